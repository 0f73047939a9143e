package standin;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.elasticsearch.client.node.NodeClient;
import org.elasticsearch.cluster.metadata.IndexNameExpressionResolver;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.IndexScopedSettings;
import org.elasticsearch.common.settings.Setting;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.settings.SettingsFilter;
import org.elasticsearch.ingest.Processor;
import org.elasticsearch.plugins.ActionPlugin;
import org.elasticsearch.plugins.IngestPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.BytesRestResponse;
import org.elasticsearch.rest.RestController;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** What ECK and a small track call and a reduced Elasticsearch 7.17 lacks: the node shutdown API, four processors, a setting. */
public class StandInPlugin extends Plugin implements ActionPlugin, IngestPlugin {
    @Override
    public Map<String, Processor.Factory> getProcessors(Processor.Parameters parameters) {
        return Processors.all();
    }

    @Override
    public List<Setting<?>> getSettings() {
        return Background.settings();
    }

    @Override
    public List<RestHandler> getRestHandlers(
        Settings settings,
        RestController controller,
        ClusterSettings clusterSettings,
        IndexScopedSettings indexSettings,
        SettingsFilter filter,
        IndexNameExpressionResolver resolver,
        Supplier<DiscoveryNodes> nodes
    ) {
        return Collections.singletonList(new Shutdown());
    }

    /** Accepts shutdown requests and forgets them: no node of a stand-in is ever marked as leaving. */
    private static final class Shutdown extends BaseRestHandler {
        @Override
        public String getName() {
            return "standin_shutdown";
        }

        @Override
        public List<Route> routes() {
            return Arrays.asList(
                new Route(RestRequest.Method.GET, "/_nodes/shutdown"),
                new Route(RestRequest.Method.GET, "/_nodes/{nodeId}/shutdown"),
                new Route(RestRequest.Method.PUT, "/_nodes/{nodeId}/shutdown"),
                new Route(RestRequest.Method.DELETE, "/_nodes/{nodeId}/shutdown")
            );
        }

        @Override
        protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
            request.param("nodeId");
            if (request.hasContent()) {
                request.content();
            }
            return channel -> {
                XContentBuilder body = channel.newBuilder().startObject();
                if (request.method() == RestRequest.Method.GET) {
                    body.startArray("nodes").endArray();
                } else {
                    body.field("acknowledged", true);
                }
                channel.sendResponse(new BytesRestResponse(RestStatus.OK, body.endObject()));
            };
        }
    }
}

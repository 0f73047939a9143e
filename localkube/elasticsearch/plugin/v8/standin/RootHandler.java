package standin;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import org.elasticsearch.action.ActionListener;
import org.elasticsearch.action.admin.cluster.state.ClusterStateResponse;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestChannel;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** {@code GET /}: who this is. From 8.8 on the official images have it from the rest-root module. */
final class RootHandler extends BaseRestHandler {
    private final String node;

    RootHandler(String node) {
        this.node = node;
    }

    @Override
    public String getName() {
        return "standin_root";
    }

    @Override
    public List<Route> routes() {
        return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
    }

    @Override
    protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
        return channel -> client.execute(Versions.stateAction(), Versions.localMetadataRequest(), new ActionListener<>() {
            @Override
            public void onResponse(ClusterStateResponse state) {
                try {
                    channel.sendResponse(new RestResponse(RestStatus.OK, describe(channel, state)));
                } catch (IOException e) {
                    onFailure(e);
                }
            }

            @Override
            public void onFailure(Exception cause) {
                try {
                    channel.sendResponse(new RestResponse(channel, cause));
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        });
    }

    private XContentBuilder describe(RestChannel channel, ClusterStateResponse state) throws IOException {
        XContentBuilder body = channel.newBuilder().prettyPrint().startObject();
        body.field("name", node);
        body.field("cluster_name", state.getClusterName().value());
        body.field("cluster_uuid", state.getState().metadata().clusterUUID());
        body.startObject("version");
        body.field("number", Versions.build("version"));
        body.field("build_flavor", "default");
        body.field("build_type", "zip");
        body.field("build_hash", Versions.build("hash"));
        body.field("build_date", Versions.build("date"));
        body.field("build_snapshot", false);
        body.field("lucene_version", org.apache.lucene.util.Version.LATEST.toString());
        body.field("minimum_wire_compatibility_version", Versions.build("minWireCompatVersion"));
        body.field("minimum_index_compatibility_version", Versions.build("minIndexCompatVersion"));
        body.endObject();
        return body.field("tagline", "You Know, for Search").endObject();
    }
}

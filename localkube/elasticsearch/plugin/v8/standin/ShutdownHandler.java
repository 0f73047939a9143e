package standin;

import java.util.List;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** Accepts node shutdown requests and forgets them: no node of a stand-in is ever marked as leaving. */
final class ShutdownHandler extends BaseRestHandler {
    @Override
    public String getName() {
        return "standin_shutdown";
    }

    @Override
    public List<Route> routes() {
        return List.of(
            new Route(RestRequest.Method.GET, "/_nodes/shutdown"),
            new Route(RestRequest.Method.GET, "/_nodes/{nodeId}/shutdown"),
            new Route(RestRequest.Method.PUT, "/_nodes/{nodeId}/shutdown"),
            new Route(RestRequest.Method.DELETE, "/_nodes/{nodeId}/shutdown")
        );
    }

    @Override
    protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
        request.param("nodeId");
        request.param("master_timeout");
        request.param("timeout");
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
            channel.sendResponse(new RestResponse(RestStatus.OK, body.endObject()));
        };
    }
}

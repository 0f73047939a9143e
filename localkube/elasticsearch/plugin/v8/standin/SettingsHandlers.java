package standin;

import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.elasticsearch.reservedstate.ReservedClusterStateHandler;
import org.elasticsearch.reservedstate.ReservedClusterStateHandlerProvider;
import org.elasticsearch.reservedstate.TransformState;
import org.elasticsearch.xcontent.XContentParser;

/**
 * Lets ECK's settings.json be read. It always has (empty) slm and ilm parts, whose handlers are in modules that are
 * missing here; without them the whole file fails and the readiness port never opens. Nothing in them takes effect.
 */
public class SettingsHandlers implements ReservedClusterStateHandlerProvider {
    @Override
    public Collection<ReservedClusterStateHandler<?>> handlers() {
        return List.of(new Nothing("slm"), new Nothing("ilm"));
    }

    private static final class Nothing implements ReservedClusterStateHandler<Map<String, Object>> {
        private final String name;

        Nothing(String name) {
            this.name = name;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public TransformState transform(Object source, TransformState before) {
            return before;
        }

        @Override
        public Map<String, Object> fromXContent(XContentParser parser) throws IOException {
            return parser.map();
        }
    }
}

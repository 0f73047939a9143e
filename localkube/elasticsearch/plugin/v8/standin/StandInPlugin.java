package standin;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.elasticsearch.cluster.metadata.IndexNameExpressionResolver;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.common.io.stream.NamedWriteableRegistry;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.IndexScopedSettings;
import org.elasticsearch.common.settings.Setting;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.settings.SettingsFilter;
import org.elasticsearch.ingest.Processor;
import org.elasticsearch.plugins.ActionPlugin;
import org.elasticsearch.plugins.IngestPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.rest.RestController;
import org.elasticsearch.rest.RestHandler;

/**
 * What ECK, Rally and a small track call and a reduced Elasticsearch 8 or 9 lacks. Compiled once against 8.6.1 and
 * loaded by every later version; where versions differ, see {@link Versions}.
 */
public class StandInPlugin extends Plugin implements ActionPlugin, IngestPlugin {
    @Override
    public Map<String, Processor.Factory> getProcessors(Processor.Parameters parameters) {
        return Processors.all();
    }

    @Override
    public List<Setting<?>> getSettings() {
        return Background.settings();
    }

    /** Called by 8.0 to 8.12. */
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
        return handlers(settings);
    }

    /** Called by 8.13 and later; the last type does not exist in 8.6.1, hence the bare Predicate. */
    @SuppressWarnings("rawtypes")
    public Collection<RestHandler> getRestHandlers(
        Settings settings,
        NamedWriteableRegistry writeables,
        RestController controller,
        ClusterSettings clusterSettings,
        IndexScopedSettings indexSettings,
        SettingsFilter filter,
        IndexNameExpressionResolver resolver,
        Supplier<DiscoveryNodes> nodes,
        Predicate features
    ) {
        return handlers(settings);
    }

    private static List<RestHandler> handlers(Settings settings) {
        List<RestHandler> handlers = new ArrayList<>();
        handlers.add(new ShutdownHandler());
        if (Versions.rootIsAModule()) {
            handlers.add(new RootHandler(settings.get("node.name")));
        }
        return handlers;
    }
}

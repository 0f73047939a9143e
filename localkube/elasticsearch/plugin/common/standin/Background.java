package standin;

import java.util.Collections;
import java.util.List;
import org.elasticsearch.common.settings.Setting;

/**
 * The setting that switches the downloads of GeoIP databases off, which the official images have from the ingest-geoip
 * module: without it a node would not start with it. Nothing is downloaded here in any case.
 */
final class Background {
    private Background() {}

    static List<Setting<?>> settings() {
        return Collections.singletonList(
            Setting.boolSetting("ingest.geoip.downloader.enabled", true, Setting.Property.NodeScope, Setting.Property.Dynamic)
        );
    }
}

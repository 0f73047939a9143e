package standin;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import org.elasticsearch.ingest.AbstractProcessor;
import org.elasticsearch.ingest.ConfigurationUtils;
import org.elasticsearch.ingest.IngestDocument;
import org.elasticsearch.ingest.Processor;

/**
 * The ingest processors set, uppercase, convert and remove, which the official images have from the ingest-common
 * module. Options that are not here are refused by Elasticsearch itself, never ignored.
 */
final class Processors {
    private Processors() {}

    static Map<String, Processor.Factory> all() {
        Map<String, Processor.Factory> factories = new HashMap<>();
        factories.put("set", (registry, tag, description, config) -> set(tag, description, config));
        factories.put("uppercase", (registry, tag, description, config) -> uppercase(tag, description, config));
        factories.put("convert", (registry, tag, description, config) -> convert(tag, description, config));
        factories.put("remove", (registry, tag, description, config) -> remove(tag, description, config));
        return factories;
    }

    private static Processor set(String tag, String description, Map<String, Object> config) {
        String field = ConfigurationUtils.readStringProperty("set", tag, config, "field");
        Object value = ConfigurationUtils.readObject("set", tag, config, "value");
        boolean override = ConfigurationUtils.readBooleanProperty("set", tag, config, "override", true);
        return new Step("set", tag, description, document -> {
            if (override || document.hasField(field) == false || document.getFieldValue(field, Object.class) == null) {
                document.setFieldValue(field, Template.render(value, document));
            }
        });
    }

    private static Processor uppercase(String tag, String description, Map<String, Object> config) {
        String field = ConfigurationUtils.readStringProperty("uppercase", tag, config, "field");
        String target = ConfigurationUtils.readStringProperty("uppercase", tag, config, "target_field", field);
        boolean ignoreMissing = ConfigurationUtils.readBooleanProperty("uppercase", tag, config, "ignore_missing", false);
        return new Step("uppercase", tag, description, document -> {
            String value = document.getFieldValue(field, String.class, ignoreMissing);
            if (value == null) {
                requireIgnored(field, ignoreMissing);
                return;
            }
            document.setFieldValue(target, value.toUpperCase(Locale.ROOT));
        });
    }

    private static Processor convert(String tag, String description, Map<String, Object> config) {
        String field = ConfigurationUtils.readStringProperty("convert", tag, config, "field");
        String target = ConfigurationUtils.readStringProperty("convert", tag, config, "target_field", field);
        String type = ConfigurationUtils.readStringProperty("convert", tag, config, "type");
        boolean ignoreMissing = ConfigurationUtils.readBooleanProperty("convert", tag, config, "ignore_missing", false);
        Conversion conversion = Conversion.named(type);
        return new Step("convert", tag, description, document -> {
            Object value = document.getFieldValue(field, Object.class, ignoreMissing);
            if (value == null) {
                requireIgnored(field, ignoreMissing);
                return;
            }
            document.setFieldValue(target, conversion.of(value));
        });
    }

    private static Processor remove(String tag, String description, Map<String, Object> config) {
        String field = ConfigurationUtils.readStringProperty("remove", tag, config, "field");
        boolean ignoreMissing = ConfigurationUtils.readBooleanProperty("remove", tag, config, "ignore_missing", false);
        return new Step("remove", tag, description, document -> {
            if (ignoreMissing == false || document.hasField(field)) {
                document.removeField(field);
            }
        });
    }

    private static void requireIgnored(String field, boolean ignoreMissing) {
        if (ignoreMissing == false) {
            throw new IllegalArgumentException("field [" + field + "] is null");
        }
    }

    private static final class Step extends AbstractProcessor {
        private final String type;
        private final Consumer<IngestDocument> change;

        Step(String type, String tag, String description, Consumer<IngestDocument> change) {
            super(tag, description);
            this.type = type;
            this.change = change;
        }

        @Override
        public IngestDocument execute(IngestDocument document) {
            change.accept(document);
            return document;
        }

        @Override
        public String getType() {
            return type;
        }
    }
}

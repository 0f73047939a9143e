package standin;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.elasticsearch.ingest.IngestDocument;

/**
 * Values such as {@code {{_ingest.timestamp}}} and {@code {{{machine.os}}}}: each path in braces becomes the text of
 * that field. Stands in for the Mustache templates of the lang-mustache module; sections and partials are refused.
 */
final class Template {
    private static final Pattern PATH = Pattern.compile("\\{\\{\\{\\s*([\\w.@-]+)\\s*}}}|\\{\\{\\s*([\\w.@-]+)\\s*}}");

    private Template() {}

    static Object render(Object value, IngestDocument document) {
        if (value instanceof String == false || ((String) value).contains("{{") == false) {
            return value;
        }
        Matcher found = PATH.matcher((String) value);
        StringBuffer text = new StringBuffer();
        while (found.find()) {
            String path = found.group(1) == null ? found.group(2) : found.group(1);
            found.appendReplacement(text, Matcher.quoteReplacement(valueAt(path, document)));
        }
        found.appendTail(text);
        if (text.indexOf("{{#") >= 0 || text.indexOf("{{^") >= 0 || text.indexOf("{{>") >= 0) {
            throw new IllegalArgumentException("only {{field}} is understood in [" + value + "]");
        }
        return text.toString();
    }

    private static String valueAt(String path, IngestDocument document) {
        if (path.startsWith("_ingest.")) {
            Object value = document.getIngestMetadata().get(path.substring("_ingest.".length()));
            return value == null ? "" : value.toString();
        }
        return document.hasField(path) ? String.valueOf(document.getFieldValue(path, Object.class)) : "";
    }
}

"""What a codec really is: the same name is another algorithm in another version of Elasticsearch."""

import re

# Elasticsearch's CodecService, release builds. In 8.14 and 8.15 Zstandard is behind the feature flag
# zstd_stored_fields, which only snapshot builds switch on; 8.16 removed the flag for best_compression alone
# (elasticsearch: pull request 112665), so that `default` is LZ4 up to now.
_ZSTD_SINCE = (8, 16)


def algorithm(codec: str | None, version: str | None) -> str:
    """Return the compression of stored fields behind a codec's name: LZ4, DEFLATE or ZSTD; "" when it is not known.

    `version` is Elasticsearch's. Documents (_source) are stored fields; other parts of an index are compressed alike
    whatever the codec.
    """
    found = re.match(r"(\d+)\.(\d+)", version or "")
    if found is None:
        return ""
    since_zstd = (int(found[1]), int(found[2])) >= _ZSTD_SINCE
    return {
        "default": "LZ4",
        "lucene_default": "LZ4",
        "best_compression": "ZSTD" if since_zstd else "DEFLATE",
        "legacy_default": "LZ4",
        "legacy_best_compression": "DEFLATE",
    }.get(codec or "", "")

"""Work that Elasticsearch does on its own, and that is switched off on a cluster that nobody but the race uses."""

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from fairlap.api.spec import Elasticsearch
from fairlap_race.contract.index_settings import flatten

_BUNDLED = (7, 11)
"""From here on every distribution has all of these; before, an image could be one without the features of x-pack."""


class _Service(NamedTuple):
    """A service with the setting that switches it off."""

    name: str
    setting: str
    since: tuple[int, int]
    """version of Elasticsearch: an older one does not know the setting, and would not start"""


_SERVICES = (
    _Service("geoip", "ingest.geoip.downloader.enabled", (7, 14)),
    _Service("ml", "xpack.ml.enabled", (6, 3)),
    _Service("watcher", "xpack.watcher.enabled", (6, 3)),
)


def switched_off(wanted: Elasticsearch, used: Collection[str]) -> dict[str, Any]:
    """Return what switches off the services that are neither `used` by the track nor in the user's own config.

    Nothing is returned for what a version, or an image of the user's, might not know.
    """
    found = re.match(r"(\d+)\.(\d+)", wanted.version)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    config = flatten(wanted.config)
    return {
        service.setting: False
        for service in _SERVICES
        if service.name not in used
        and version >= max(service.since, _BUNDLED if wanted.image else service.since)
        and not any(_is_of(service, key, value) for key, value in config.items())
    }


def _is_of(service: _Service, key: str, value: Any) -> bool:
    """Return whether a setting of the user's shows that the service was thought of."""
    area = {"geoip": "ingest.geoip.", "ml": "xpack.ml.", "watcher": "xpack.watcher."}[service.name]
    if key.startswith(area):
        return True
    return service.name == "ml" and (key == "node.ml" or (key == "node.roles" and "ml" in str(value)))

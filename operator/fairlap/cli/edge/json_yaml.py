"""YAML as Kubernetes reads it: of what JSON knows alone, so that 2024-01-01 is the text that it looks like."""

from __future__ import annotations

import yaml

_TIME = "tag:yaml.org,2002:timestamp"


class JsonLoader(yaml.SafeLoader):
    """A safe loader that takes no text for a time."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - it is a constant of the parent, too
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIME]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

"""kopf's first lists in pages that are small whatever their objects hold: kopf bounds the number of objects alone.

Anybody may make an object of 1 MB, and of lists in lists it takes 40 MB in memory: a page of 25 ended the operator, at
every start.
"""

import json
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from kopf._cogs.clients import api

from fairlap.kube.api_server import MOST_PAGE, read_at_most

_LIMIT = "limit"


async def get_page(url: str, **how: Any) -> Any:
    """Return the JSON at a path of the API server, as kopf's own function does.

    A page of a list has fewer objects than were asked for where these are large: the next one goes on from there.
    """
    while True:
        limit = limit_of(url)
        response = await api.request(method="get", url=url, **how)
        async with response:
            content = await read_at_most(response, MOST_PAGE if limit > 1 else None)
        if content is not None:
            return json.loads(content)
        url = with_limit(url, max(1, limit // 4))


def limit_of(url: str) -> int:
    """Return how many objects a URL asks for at most; 0 when it does not say."""
    text = dict(parse_qsl(urlsplit(url).query)).get(_LIMIT, "")
    return int(text) if text.isdecimal() else 0


def with_limit(url: str, limit: int) -> str:
    """Return the URL with another number of objects, and all else as it was."""
    parts = urlsplit(url)
    query = [(key, str(limit) if key == _LIMIT else value) for key, value in parse_qsl(parts.query)]
    return urlunsplit(parts._replace(query=urlencode(query)))


def use_small_pages() -> None:
    """Let every kopf list in such pages; kopf has no setting for it, and its version is pinned."""
    api.get = get_page

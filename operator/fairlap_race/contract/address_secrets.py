"""What in an address is for its server alone: a user and a password, which nobody else may read.

`fairlap.api.spec` and `fairlap.environ`, which import nothing of the race image, write the expression of git's
addresses once more; a test holds the three together.
"""

from __future__ import annotations

import re

_AT, _COLON = "(@|%40)", "(:|%3a)"
"""as they are, and as git reads them, too"""
_PASSWORD = rf"[^/:\[]*{_COLON}(/|[0-9]{{0,5}}[^0-9/]|[0-9]{{6}}).*{_AT}"
"""A password may have in it what no address may have there, a slash or an at sign; a port is digits before a slash."""
_HEAD = r"\s*([a-z][a-z0-9+.-]*:)?//"
_HAS_HOST = re.compile(rf"(?is)^{_HEAD}[^/]")
_CREDENTIALS = re.compile(rf"(?is)^(?P<head>{_HEAD})({_PASSWORD}|[^/]*{_AT})")
OF_GIT = (
    rf"(?is)^((https?|git)://[^/]*{_AT}|ssh://[^/]*{_COLON}[^/]*{_AT}|(https?|git|ssh)://{_PASSWORD})"  # ssh has a user
)
_OF_GIT = re.compile(OF_GIT)


def holds_credentials(address: str) -> bool:
    """Tell whether an address has a user or a password in it."""
    return _CREDENTIALS.match(address) is not None


def git_holds_credentials(address: str) -> bool:
    """Tell whether the address of a git repository has in it what is for its server alone; the user of ssh is not."""
    return _OF_GIT.match(address) is not None


def may_hold_credentials(text: str) -> bool:
    """Tell whether a text that is no address may have a user or a password in it."""
    return re.search(_AT, text) is not None


def shown(address: str, instead: str) -> str:
    """Return an address as others may read it: without what may be secret, user, password and query.

    `instead`: what it is called where no host shows what of it is a user and a password.
    """
    if not _HAS_HOST.match(address) and may_hold_credentials(address):
        return instead
    return re.split("[?#]", _CREDENTIALS.sub(r"\g<head>", address, count=1), maxsplit=1)[0]

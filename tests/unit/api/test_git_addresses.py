"""What in the address of a git repository is a credential: one rule, wherever an address is written or used."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import cel
import pytest

from fairlap import environ
from fairlap.api import spec
from fairlap.api.base import Json
from fairlap.api.crd import RESOURCES, crd
from fairlap.environ import settings_from_environment
from fairlap_race.contract import address_secrets
from fairlap_race.contract.specification.race_spec import GitSource
from fairlap_race.errors import TrackError
from fairlap_race.track.git import check_source

ROOT = Path(__file__).resolve().parents[3]
WITH_CREDENTIALS = [
    *("https://SECRET@host/x", "https://me:SECRET@host/x", "http://me:@host/x", "git://me:SECRET@host/x"),
    *("https://me:SEC/RET@host/x", "https://me:12SEC/RET@host/x", "https://me:/SECRET@host/x", "https://:S/T@host/x"),
    *("https://me:123456/SECRET@host/x", "https://me:SEC@R/ET@host/x", "git://me:SEC/RET@host:9418/x"),
    *("https://me:SEC?RET@host/x", "https://SEC?RET@host/x", "https://me:SEC#RE/T@host/x", "https://me:1@host/x"),
    *("https://me:SEC%2FRET@host/x", "https://me%3ASECRET@host/x", "https://me:SECRET%40host/x"),
    *("ssh://git:SECRET@host/x", "ssh://git:SEC/RET@host/x", "ssh://git:1@host/x", "ssh://git%3aSECRET@host/x"),
    *("ssh://git:SEC%40host/x", "ssh://git:SEC@R/ET@host:22/x", "ssh://me@mail.example:SEC/RET@host/x"),
]
ORDINARY = [
    *("https://host/a@b/c", "https://host:8443/a@b/c", "http://host/a:b@c", "https://host/x%40y", "https://host:1/%40"),
    *("ssh://git@host/x", "ssh://git@host:22/x", "ssh://git@host:2222/a@b/c", "ssh://host/a@b", "ssh://git@host/a:b@c"),
    *("git://host/x", "git://host:9418/x@y.git", "https://host", "https://host:65535/me:x@y"),
]


def schema(*path: str) -> Json:
    (benchmark,) = (resource for resource in RESOURCES if resource.kind == "Benchmark")
    found: Json = crd(benchmark)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for name in path:
        found = found["properties"][name]
    return found


def refused_by_the_schema(*path: str) -> Callable[[str], bool]:
    found = schema(*path)
    rules = [it["rule"] for it in found["x-kubernetes-validations"] if "must not hold credentials" in it["message"]]
    (rule,) = rules
    field = "url" if path[-1] == "git" else "repository"
    assert (field in found["properties"]) and f"self.{field}" in rule
    return lambda url: not cel.evaluate(rule, {"self": {"name": "x", field: url}})


def refused_by_the_chart(url: str) -> bool:
    values = json.loads((ROOT / "charts/fairlap/values.schema.json").read_text(encoding="utf-8"))
    return not re.search(values["properties"]["tracks"]["properties"]["repository"]["pattern"], url)


def refused_by_the_operator(url: str) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRLAP_RACE_IMAGE", "race")
        patch.setenv("FAIRLAP_TRACKS_REPOSITORY", url)
        try:
            settings_from_environment()
        except ValueError as error:
            assert str(error).startswith("FAIRLAP_TRACKS_REPOSITORY must hold no credentials: ")
            return True
    return False


def refused_by_the_runner(url: str) -> bool:
    try:
        check_source(GitSource(url, "main"))
    except TrackError as error:
        assert "holds credentials" in error.message and url not in error.message
        return True
    return False


WHERE: dict[str, Callable[[str], bool]] = {
    "race.track.git": refused_by_the_schema("race", "track", "git"),
    "race.requests.git": refused_by_the_schema("race", "requests", "git"),
    "race.track.repository": refused_by_the_schema("race", "track"),
    "the chart": refused_by_the_chart,
    "the operator": refused_by_the_operator,
    "the runner": refused_by_the_runner,
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("url", WITH_CREDENTIALS)
def test_credentials_are_refused_wherever_they_are_written(where: str, url: str) -> None:
    assert WHERE[where](url)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("url", ORDINARY)
def test_an_at_sign_in_a_path_and_the_user_of_ssh_are_no_credentials(where: str, url: str) -> None:
    assert not WHERE[where](url)


@pytest.mark.parametrize("url", ["git@host:x", "ssh://git@[fd00::1]:22/a@b", "https://[fd00::1]:443/a@b"])
def test_other_forms_of_a_mirror_are_no_credentials(url: str) -> None:
    assert not refused_by_the_operator(url)


@pytest.mark.parametrize(
    "url",
    [
        *("me:SECRET@host/x", "HTTPS://me:SECRET/x@host", "https:/me:SECRET@host/x", "https:///me:SECRET@host/x"),
        *("https://me[1]:SEC/SECRET@host/x", "https://[me:SECRET/x@host", "ftp://me:SECRET@host/x"),
    ],
)
def test_what_is_no_address_is_not_shown_where_it_may_hold_credentials(url: str) -> None:
    with pytest.raises(TrackError) as caught:
        check_source(GitSource(url, "main"))
    assert "SECRET" not in caught.value.message
    with pytest.raises(TrackError, match="'ftp://host/x' is not an address of the form https://, http://"):
        check_source(GitSource("ftp://host/x", "main"))


def test_the_operator_and_the_runner_have_one_rule() -> None:
    assert address_secrets.OF_GIT == spec.GIT_CREDENTIALS == environ._CREDENTIALS.pattern

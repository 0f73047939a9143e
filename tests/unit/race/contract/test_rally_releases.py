"""Which Rally for which Elasticsearch, and what it must be told differently."""

import ast
import ssl
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairlap_race.contract.rally_releases import MAIN, OLDER, RELEASES, RallyRelease, is_too_old, release_for
from fairlap_race.contract.specification.race_spec import SpecError
from fairlap_race.rally import releases


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("9.1.0", "2.13"), ("8.11.0", "2.13"), ("6.8.0", "2.13"), ("6.7.2", "2.3"), ("6.0.0", "2.3"),
        ("6.0.0-rc1", "2.3"), ("5.6.16", None), ("2.4.6", None), ("10.0.0-SNAPSHOT", "2.13"), (None, "2.13"),
        ("strange", "2.13"),
    ],
)  # fmt: skip
def test_the_newest_line_that_speaks_to_a_version(version: str | None, line: str | None) -> None:
    found = release_for(version)
    assert (found.name if found else None) == line


@pytest.mark.parametrize(
    ("version", "old"),
    [("5.6.16", True), ("6.7.2", True), ("6.8.0", False), ("6.10.1", False), ("7.17.29", False), ("9.0.0", False)],
)
def test_which_elasticsearch_is_too_old(version: str, old: bool) -> None:
    assert is_too_old(version, MAIN.rally) is old
    assert not is_too_old(None, MAIN.rally) and not is_too_old("serverless", None)


@pytest.mark.parametrize(("version", "old"), [("5.6.16", True), ("6.0.0", False), ("6.7.2", False), ("6.8", False)])
def test_the_older_rally_speaks_to_an_older_elasticsearch(version: str, old: bool) -> None:
    assert is_too_old(version, OLDER[0].rally) is old


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_is_never_too_new_for_what_it_is_chosen_for(release: RallyRelease) -> None:
    oldest = ".".join(map(str, release.oldest))
    assert release_for(oldest) == release
    assert not is_too_old(oldest, release.rally)


def test_no_other_module_has_a_table_of_releases() -> None:
    operator = Path(releases.__file__).parents[2]
    versions = {release.rally for release in RELEASES}
    naming = {
        file.stem
        for file in operator.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in versions
    }
    assert naming == {"rally_releases"}


def test_lists_are_files_for_the_main_line_and_words_for_the_older() -> None:
    file = Path("/c/include.json")
    assert releases.list_option("include-tasks", ("a", "type:b"), file, MAIN.rally) == [f"--include-tasks={file}"]
    assert releases.list_option("include-tasks", ("a", "type:b"), file, "2.3.1") == ["--include-tasks=a,type:b"]
    assert releases.list_option("include-tasks", (), file, "2.3.1") == []


def test_tags() -> None:
    file = Path("/c/tags.json")
    assert releases.tag_option({"a": "b:c"}, file, MAIN.rally) == [f"--user-tags={file}"]
    assert releases.tag_option({"a": "b", "c": "d"}, file, "2.3.1") == ["--user-tag=a:b,c:d"]
    assert releases.tag_option({}, file, "2.3.1") == []
    with pytest.raises(SpecError, match=r"userTags\.a"):
        releases.tag_option({"a": "b:c"}, file, "2.3.1")


def test_what_an_older_rally_does_not_have() -> None:
    def old(glob_helper: object = None) -> None: ...

    assert releases.known_options(old, build_flavor="default", glob_helper=1) == {"glob_helper": 1}
    assert releases.documents_wanted(object()) is None
    assert not releases.repeats(object())
    assert releases.documents_wanted(SimpleNamespace(ingest_doc_count="5")) == 5


def test_an_unknown_rally_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"2\.12\.0 is installed"):
        releases.adapt("2.12.0")


def test_tls_of_the_older_line_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssl, "create_default_context", ssl.create_default_context)
    releases.adapt(OLDER[0].rally)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=None)
    assert context.protocol == ssl.PROTOCOL_TLS_CLIENT
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname

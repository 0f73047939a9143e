"""The kinds of objects stand in one table: what is watched is in it, and each is found where Kubernetes has it."""

import ast

import pytest
from tests.unit.house.test_imports import FILES, module_of, nodes_of

from fairlap.api.kinds import CONFIG_MAP, ELASTICSEARCH, JOB, KINDS, ObjectKind
from fairlap.api.names import GROUP
from fairlap.runtime.kopf_handlers import BENCHMARKS, CHILDREN, COMPARISONS


@pytest.mark.parametrize(
    ("kind", "api_version", "path"),
    [
        (CONFIG_MAP, "v1", "/api/v1"),
        (JOB, "batch/v1", "/apis/batch/v1"),
        (ELASTICSEARCH, "elasticsearch.k8s.elastic.co/v1", "/apis/elasticsearch.k8s.elastic.co/v1"),
    ],
)
def test_what_has_no_group_has_a_path_of_its_own(kind: ObjectKind, api_version: str, path: str) -> None:
    assert (kind.api_version, kind.path) == (api_version, path)


def test_whatever_is_watched_is_of_a_kind_in_the_table() -> None:
    known = {(each.group, each.version, each.plural) for each in KINDS.values()}
    watched = {("", *each)[-3:] for each in (BENCHMARKS, COMPARISONS, *CHILDREN.values())}
    assert watched - known == set()


def test_no_other_module_writes_the_group_of_a_kind() -> None:
    groups = {each.group for each in KINDS.values()} - {"", GROUP}
    texts = [
        (module_of(file), node.value)
        for file in FILES
        if module_of(file).startswith("fairlap.")
        for node in nodes_of(file)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    found = {module for module, text in texts if text.partition("/")[0] in groups}
    assert found == {"fairlap.api.kinds"}

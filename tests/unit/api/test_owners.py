"""Who controls an object is read from references of any shape."""

from typing import Any

import pytest

from fairlap.api.names import COMPARISON_KIND, KIND
from fairlap.api.owners import controller, controller_uid

OURS = {"apiVersion": "fairlap.dev/v1alpha1", "kind": KIND, "name": "b", "uid": "u", "controller": True}


@pytest.mark.parametrize(
    ("references", "owner", "uid"),
    [
        ([OURS], OURS, "u"),
        ([{"kind": "x"}, OURS], OURS, "u"),
        ([{**OURS, "apiVersion": "fairlap.dev/v2"}], {**OURS, "apiVersion": "fairlap.dev/v2"}, "u"),
        ([{**OURS, "apiVersion": "apps/v1"}], {**OURS, "apiVersion": "apps/v1"}, ""),
        ([{**OURS, "controller": False}], {}, ""),
        ([{"controller": True}], {"controller": True}, ""),
        ([3, None], {}, ""),
        ("nonsense", {}, ""),
        (None, {}, ""),
    ],
)
def test_one_of_ours_controls_by_its_kind_and_group(references: Any, owner: Any, uid: str) -> None:
    body = {"metadata": {"ownerReferences": references}}
    assert (controller(body), controller_uid(body, KIND), controller_uid(body, COMPARISON_KIND)) == (owner, uid, "")


def test_a_reference_without_a_uid_is_nobodys_and_a_long_uid_is_cut() -> None:
    nameless = {key: value for key, value in OURS.items() if key != "uid"}
    assert controller_uid({"metadata": {"ownerReferences": [nameless]}}, KIND) == ""
    assert controller_uid({"metadata": {"ownerReferences": [{**OURS, "uid": "u" * 99}]}}, KIND) == "u" * 64

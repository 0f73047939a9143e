"""Rights, templates and documents of a metrics store, against answers of every kind."""

import json
import threading
import time
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.elasticsearch.metrics_copy import (
    NotStoredError,
    batches,
    make_template,
    missing_rights,
    store,
)


class Fake:
    """Answers each request with the next of `answers`, an exception is raised; keeps what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), list[tuple[str, str, bytes | None]]()

    def send(self, method: str, path: str, body: bytes | None, _: Any, timeout: float = 0) -> Any:
        self.asked.append((method, path, body))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def get(self, path: str) -> Any:
        return self.send("GET", path, None, {})


def client(*answers: Any) -> tuple[Fake, ElasticsearchClient]:
    fake = Fake(*answers)
    return fake, cast(ElasticsearchClient, fake)


def refused(status: int | None) -> ElasticsearchError:
    return ElasticsearchError(f"HTTP {status}", status)


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ({"cluster": {"manage_index_templates": True},
          "index": {"rally-*": {"create_index": True, "index": True}}}, ()),
        ({"cluster": {"manage_index_templates": False}, "index": {"rally-*": {"create_index": True, "index": False}}},
         ("cluster privilege manage_index_templates", "index on rally-*")),
        ({}, ()),
        (refused(400), ()),
        (refused(405), ()),
    ],
)  # fmt: skip
def test_which_rights_are_missing(answer: Any, missing: tuple[str, ...]) -> None:
    assert missing_rights(client(answer)[1]) == missing


@pytest.mark.parametrize("status", [401, 403, 500, None])
def test_a_refusal_is_no_missing_right(status: int | None) -> None:
    with pytest.raises(ElasticsearchError):
        missing_rights(client(refused(status))[1])


@pytest.mark.parametrize(
    ("template", "path"), [({"template": {}}, "/_index_template/rally-x"), ({"settings": {}}, "/_template/rally-x")]
)
def test_a_template_is_made_where_there_is_none(template: Any, path: str) -> None:
    fake, asked = client(refused(404), {})
    make_template(asked, "rally-x", template)
    assert fake.asked == [("GET", path, None), ("PUT", path, json.dumps(template).encode())]
    fake, asked = client({})
    make_template(asked, "rally-x", template)
    assert [each[0] for each in fake.asked] == ["GET"], "one that is there stays as it is"
    with pytest.raises(ElasticsearchError):
        make_template(client(refused(403))[1], "rally-x", template)


def taken(*statuses: int) -> Any:
    def item(status: int) -> Any:
        return {
            "index": {"status": status, **({} if status < 300 else {"error": {"type": "mapper_parsing_exception"}})}
        }

    return {"items": [item(status) for status in statuses]}


def sent(answers: list[Any], documents: list[str], limit: float = 1e12, **options: Any) -> tuple[Fake, int, str]:
    fake, asked = client(*answers)
    total = 0
    try:
        for number in store(asked, "rally-x", documents, limit, options.pop("stop", threading.Event()), **options):
            total += number
    except NotStoredError as error:
        return fake, total, str(error)
    return fake, total, ""


def test_documents_are_counted_as_they_are_taken() -> None:
    fake, total, problem = sent([taken(201, 201)], ['{"a":1}', '{"b":2}'])
    assert (total, problem) == (2, "")
    assert fake.asked == [("POST", "/rally-x/_bulk", b'{"index": {}}\n{"a":1}\n{"index": {}}\n{"b":2}\n')]
    fake, _, _ = sent([taken(201)], ["{}"], identity="r.1")
    assert fake.asked[0][2] == b'{"index": {"_id": "r.1"}}\n{}\n'


@pytest.mark.parametrize(
    ("answer", "total", "problem"),
    [
        (taken(201, 400), 1, "rally-x refused 1 documents (mapper_parsing_exception)"),
        ({}, 0, "rally-x refused 2 documents"),
        ([], 0, "rally-x refused 2 documents"),
        ({"items": [3, None]}, 0, "rally-x refused 2 documents"),
    ],
)
def test_documents_that_are_refused_end_it(answer: Any, total: int, problem: str) -> None:
    assert sent([answer], ["{}", "{}"])[1:] == (total, problem)


def test_its_time_is_bounded_and_it_can_be_stopped() -> None:
    assert sent([], ["{}"], limit=time.monotonic() - 1)[1:] == (0, "the time for it was over")
    stop = threading.Event()
    stop.set()
    assert sent([], ["{}"], stop=stop)[1:] == (0, "the runner was told to stop")


@given(st.lists(st.text(max_size=30)), st.integers(1, 60))
def test_batches_are_bounded_and_lose_nothing(documents: list[str], most: int) -> None:
    found = list(batches(documents, most))
    assert [each for batch in found for each in batch] == documents
    assert all(batch and (len(batch) == 1 or sum(map(len, batch)) <= most) for batch in found)

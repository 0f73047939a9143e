"""What follows from what goes wrong in a row: how long to wait, and when others go on without it."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.kube.api_error import ApiError
from fairlap.plan.unforeseen import PAUSES
from fairlap.runtime.loop.setbacks import FORBIDDEN_FAILURES, REFUSALS, Setbacks

NOW = 1000.0
RBAC = 'benchmarks is forbidden: User "o" cannot update resource "benchmarks/status" in API group "fairlap.dev"'
DENIED = 'admission webhook "policy.example" denied the request: no'
QUOTA = 'benchmarks.fairlap.dev "a" is forbidden: exceeded quota: full, requested: count/benchmarks.fairlap.dev=1'


def test_pauses_after_failures_double_up_to_half_a_minute() -> None:
    setbacks = Setbacks()
    assert [setbacks.after_failure() for _ in range(8)] == [1, 2, 4, 8, 16, 30, 30, 30]
    assert setbacks.left(NOW) <= 0, "an event may wake it before"


def test_a_view_that_stays_out_of_date_is_looked_at_more_rarely() -> None:
    setbacks = Setbacks()
    assert [setbacks.after_stale() for _ in range(21)] == [0.3] * 19 + [15.0] * 2
    assert setbacks.failures == 0, "nobody has failed"


@pytest.mark.parametrize(("fails", "times"), [(Setbacks.after_failure, FORBIDDEN_FAILURES), (Setbacks.after_stale, 20)])
def test_what_lasts_is_told(fails: Callable[[Setbacks], float], times: int) -> None:
    setbacks = Setbacks()
    for _ in range(times):
        assert not setbacks.lasts()
        fails(setbacks)
    assert setbacks.lasts()
    setbacks.clear()
    assert not setbacks.lasts()


def test_a_holder_that_gets_no_answer_makes_room_while_others_get_one() -> None:
    setbacks = Setbacks()
    assert not setbacks.after_no_answer(NOW, NOW - 1, 600), "the last write of another was before that"
    assert not setbacks.after_no_answer(NOW + 600, NOW - 1, 600), "nobody gets one"
    assert not setbacks.after_no_answer(NOW + 600, NOW + 5, 600), "nobody has got one for long"
    assert not setbacks.after_no_answer(NOW + 600, NOW + 300, 600)
    assert not setbacks.after_no_answer(NOW + 599, NOW + 598, 600)
    assert setbacks.after_no_answer(NOW + 600, NOW + 301, 600)
    assert not setbacks.after_no_answer(NOW + 1200, NOW + 900, 600), "the API server went away for all since then"
    assert setbacks.after_no_answer(NOW + 1200, NOW + 901, 600)
    setbacks.clear()
    assert not setbacks.after_no_answer(NOW + 700, NOW + 650, 600), "it had one meanwhile"


def test_the_third_error_in_a_row_is_believed() -> None:
    setbacks, now = Setbacks(), NOW
    for pause in PAUSES:
        assert setbacks.after_error(now, ends=False) == pause == setbacks.left(now), "no event wakes it before"
        now += pause
    assert setbacks.after_error(now, ends=False) is None and setbacks.left(now) == 0


def test_an_end_is_tried_for_ever_and_ever_more_rarely() -> None:
    setbacks, pauses = Setbacks(), []
    for _ in range(8):
        pauses.append(setbacks.after_error(NOW, ends=True))
        assert setbacks.left(NOW) == pauses[-1]
    assert pauses == [10, 20, 40, 80, 160, 300, 300, 300]


@pytest.mark.parametrize(
    ("failures", "forbidden", "aside"),
    [
        (1, False, False),
        (REFUSALS - 1, False, False),
        (REFUSALS, False, True),
        (REFUSALS, True, False),
        (FORBIDDEN_FAILURES - 1, True, False),
        (FORBIDDEN_FAILURES, True, True),
    ],
)
def test_after_how_many_refusals_others_go_on_without_one_that_holds_no_place(
    failures: int, forbidden: bool, aside: bool
) -> None:
    setbacks = Setbacks(failures=failures)
    assert setbacks.after_refusal(NOW, 7.0, forbidden=forbidden, holds=False, patience=600) is aside
    assert setbacks.left(NOW) == 7 and setbacks.refused_since == 0, "it is not woken when others are told"


@pytest.mark.parametrize(("seconds", "aside"), [(0.0, False), (599.0, False), (600.0, True)])
def test_who_holds_a_place_has_its_time_however_often_it_is_refused(seconds: float, aside: bool) -> None:
    setbacks = Setbacks(failures=100)
    assert not setbacks.after_refusal(NOW, 7.0, forbidden=True, holds=True, patience=600)
    assert setbacks.after_refusal(NOW + seconds, 7.0, forbidden=True, holds=True, patience=600) is aside
    assert setbacks.left(NOW) <= 0, "an event may wake it"
    setbacks.clear()
    assert not setbacks.after_refusal(NOW + 600, 7.0, forbidden=True, holds=True, patience=600), "a look went well"


@pytest.mark.parametrize(
    ("failures", "error", "final"),
    [
        (0, ApiError(422, "spec is wrong"), True),
        (0, ApiError(403, DENIED), True),
        (FORBIDDEN_FAILURES - 1, ApiError(403, RBAC), False),
        (FORBIDDEN_FAILURES, ApiError(403, RBAC), True),
        (FORBIDDEN_FAILURES, ApiError(403, QUOTA), False),
        (FORBIDDEN_FAILURES, ApiError(500, "etcdserver: no leader"), False),
        (FORBIDDEN_FAILURES, ApiError(0, "no answer"), False),
    ],
)
def test_which_refusals_are_for_good(failures: int, error: ApiError, final: bool) -> None:
    assert Setbacks(failures=failures).is_final(error) is final


def test_a_look_that_went_well_ends_all_counts_but_no_rest() -> None:
    setbacks = Setbacks(failures=6, stale=30, errors=2, refused_since=NOW)
    assert setbacks.rest(NOW, 60.0) == 60
    setbacks.clear()
    assert setbacks == Setbacks(not_before=NOW + 60) and setbacks.left(NOW + 61) == -1


@given(st.lists(st.sampled_from(["failure", "stale", "error"])))
def test_pauses_never_shrink_while_nothing_goes_well(kinds: list[str]) -> None:
    setbacks, longest = Setbacks(), dict.fromkeys(("failure", "stale", "error"), 0.0)
    for kind in kinds:
        if kind == "error":
            pause = setbacks.after_error(NOW, ends=True)
        else:
            pause = setbacks.after_failure() if kind == "failure" else setbacks.after_stale()
        assert pause is not None and longest[kind] <= pause <= 300
        longest[kind] = pause

"""What an answer of the API server means: try again, or give up."""

import pytest

from fairlap.kube.api_error import ApiError, QuotaRefusal

SILENT = 'Internal error occurred: failed calling webhook "x": failed to call webhook: Post "https://x": EOF'
DENIED = 'admission webhook "x" denied the request: no'
RBAC = 'jobs.batch is forbidden: User "system:serviceaccount:a:b" cannot create resource "jobs" in API group "batch"'


@pytest.mark.parametrize(
    ("status", "message", "final", "forbidden"),
    [
        (0, "no answer from the API server", False, False),
        (409, "the object has been modified", False, False),
        (500, "etcdserver: request timed out", False, False),
        (422, "ValidatingAdmissionPolicy denied request", True, False),
        (403, DENIED, True, False),
        (500, SILENT, False, False),
        (403, 'pods "x" is forbidden: exceeded quota: q', False, False),
        (403, 'pods "x" is forbidden: failed quota: q: must specify limits.cpu', False, False),
        (403, 'jobs.batch "x" is forbidden: insufficient quota to consume: pods', False, False),
        (403, 'jobs.batch "x" is forbidden: status unknown for quota: q, resources: pods', False, False),
        (403, 'jobs.batch "quota-race-1" is forbidden: ValidatingAdmissionPolicy "p" denied request: no', True, False),
        (403, 'jobs.batch "x" is forbidden: ValidatingAdmissionPolicy "exceeded-quota" denied request', True, False),
        (403, RBAC, False, True),
        (413, "limit is 3145728", True, False),
        (500, "rpc error: code = InvalidArgument desc = etcdserver: request is too large", True, False),
        (500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max", True, False),
    ],
)
def test_what_is_tried_again(status: int, message: str, final: bool, forbidden: bool) -> None:
    error = ApiError(status, message)
    assert (error.final, error.forbidden) == (final, forbidden)


@pytest.mark.parametrize(
    ("status", "message", "unfit"),
    [(400, "", True), (413, "", True), (422, "", True), (500, "etcdserver: request is too large", True),
     (500, "", False), (403, "admission webhook denied", False), (409, "", False), (0, "", False)],
)  # fmt: skip
def test_what_is_refused_for_its_content(status: int, message: str, unfit: bool) -> None:
    error = ApiError(status, message)
    assert error.unfit is unfit and not (unfit and error.unanswered)


@pytest.mark.parametrize(
    ("status", "message", "refused"),
    [(403, "", True), (403, RBAC, True), (500, SILENT, True), (500, DENIED, True), (504, SILENT, True),
     (500, "etcdserver: request timed out", False), (0, "", False), (409, "", False), (429, "", False)],
)  # fmt: skip
def test_what_is_refused_while_others_may_go_on(status: int, message: str, refused: bool) -> None:
    """A webhook stands before anything is written: what it lets fail was not carried out."""
    error = ApiError(status, message)
    assert error.refused is refused and not (refused and error.unanswered)


@pytest.mark.parametrize(("status", "unanswered"), [(0, True), (500, True), (504, True), (409, False), (422, False)])
def test_what_may_have_been_carried_out_all_the_same(status: int, unanswered: bool) -> None:
    assert ApiError(status, "no").unanswered is unanswered


@pytest.mark.parametrize(
    ("message", "quota", "words"),
    [
        ('benchmarks.fairlap.dev "x" is forbidden: exceeded quota: q, requested: count/benchmarks.fairlap.dev=1',
         QuotaRefusal.EXCEEDED,
         "quota exceeded (raise it, or delete what is over): q, requested: count/benchmarks.fairlap.dev=1"),
        ('pods "x" is forbidden: failed quota: q: must specify limits.cpu', QuotaRefusal.UNSPECIFIED,
         "a quota asks for what is not set (set it, or change the quota): q: must specify limits.cpu"),
        ('jobs.batch "x" is forbidden: insufficient quota to consume: count/jobs.batch', QuotaRefusal.UNCOVERED,
         "no quota covers it (create one in the namespace that does): count/jobs.batch"),
        ('jobs.batch "x" is forbidden: status unknown for quota: q, resources: pods', QuotaRefusal.UNCOUNTED,
         "a quota is not counted yet (wait; if that stays, look at kube-controller-manager): q, resources: pods"),
        ('jobs.batch "x" is forbidden: ValidatingAdmissionPolicy "exceeded-quota" denied request', None, ""),
        (RBAC, None, ""),
    ],
)  # fmt: skip
def test_only_a_quota_that_is_full_is_called_exceeded(message: str, quota: QuotaRefusal | None, words: str) -> None:
    error = ApiError(403, message)
    assert (error.quota, error.quota_words, error.over_quota) == (quota, words, quota is not None)
    assert ApiError(409, message).quota is None


@pytest.mark.parametrize("refusal", QuotaRefusal)
def test_each_refusal_of_a_quota_has_its_words(refusal: QuotaRefusal) -> None:
    assert ApiError(403, f"x: {refusal} quota: q").quota_words.endswith("): q")

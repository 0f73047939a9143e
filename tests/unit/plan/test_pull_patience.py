"""How long an image that is not pulled is waited for: from when it could be pulled, not from when its stage began."""

from dataclasses import replace
from typing import Any

import pytest
from world import START, cluster, job, later, pod, seen

from fairlap.api.status import BenchmarkStatus, Step
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.basis.seen import Children, Seen
from fairlap.plan.benchmark import plan


def stuck(role: str, reason: str, scheduled: object, *copied: object) -> dict[str, Any]:
    """A pod that has a machine since `scheduled`, and whose init containers were over at `copied`."""
    container = {"name": role, "image": "i", "restartCount": 0}
    waits = {**container, "state": {"waiting": {"reason": reason, "message": "429"}}}
    done = [{**container, "state": {"terminated": {"exitCode": 0, "finishedAt": at}}} for at in copied]
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": scheduled}
    found = pod("p-0", role, ready=False, conditions=[condition], containerStatuses=[waits])
    found["status"]["initContainerStatuses"] = done
    return found


def waits_for(found: dict[str, Any]) -> Seen:
    """What is seen of a step whose one unready pod this is."""
    stage = "Running" if found["metadata"]["labels"]["fairlap.dev/role"] == "load-generator" else "Provisioning"
    step = Step(name="race-1", stage=stage, since=stamp(START), job_uid="job-1")  # type: ignore[arg-type]
    children = Children(cluster(phase="ApplyingChanges"), job() if stage == "Running" else None, None, [found])
    records = {"race-1": None}
    return seen(BenchmarkStatus(phase="Provisioning", step=step), children=children, records=records, warnings=())


@pytest.mark.parametrize("role", ["elasticsearch", "load-generator"])
@pytest.mark.parametrize("reason", ["ErrImagePull", "CreateContainerConfigError"])
@pytest.mark.parametrize(
    ("scheduled", "copied", "counts_from"),
    [
        (stamp(later(seconds=120)), (), 120),
        (stamp(later(seconds=20)), (stamp(later(seconds=90)), stamp(later(seconds=200))), 200),
        (stamp(later(seconds=-60)), (), 0),
        (None, (None, "soon"), 0),
    ],
    ids=["late machine", "large first image", "an old pod", "unknown"],
)
def test_patience_counts_from_when_the_image_could_be_pulled(
    role: str, reason: str, scheduled: str | None, copied: tuple[str | None, ...], counts_from: int
) -> None:
    look = waits_for(stuck(role, reason, scheduled, *copied))
    early = plan(replace(look, now=later(seconds=counts_from + 119)))
    assert (early.status.failing, early.wake_in) == (False, 1)
    late = plan(replace(look, now=later(seconds=counts_from + 120)))
    assert late.status.failing and "429" in late.status.message


def test_the_stage_ends_at_its_own_deadline_whatever_a_machine_says_of_its_time() -> None:
    look = waits_for(stuck("elasticsearch", "ErrImagePull", stamp(later(days=9))))
    assert plan(replace(look, now=later(minutes=15))).status.reason == "ImagePull"

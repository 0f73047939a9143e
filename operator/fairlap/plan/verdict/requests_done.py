"""Whether the requests of a race did what they were for, which Rally does not look at: searches and bulks. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.violation import Violation
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.recorded.request_evidence import (
    AFTER,
    OTHER_SEARCHES,
    SEARCHES,
    RequestEvidence,
    SearchAnswer,
    StepCounters,
)
from fairlap_race.contract.some_of import some_clauses

_MOST_NAMED = 10
_SENT_AGAIN = "sent once more after the task"


def documents_lost(record: Record, _: BenchmarkSpec) -> Violation | None:
    """Return that bulks which Rally counts as success lost documents, however many the track says there will be."""
    for task in record.tasks:
        trouble = task.bulk_trouble
        if trouble and trouble.lost > 0:
            return Violation(
                Reason.DOCUMENTS_LOST,
                f"task {task.task}: {trouble.lost} documents were never indexed, in bulks that Rally calls a success "
                f"because it sent them again ({trouble.retried} bulks, {trouble.item_errors} refused documents)",
            )
    return None


def searches_hit_nothing(record: Record, _: BenchmarkSpec) -> Violation | None:
    """Return that searches reached no shard at all: there is none, none counted them, or no answer is of one."""
    evidence = record.requests or RequestEvidence()
    sent, answers = _requests(record), _after(evidence)
    drawn, skipped = _tasks_with(answers, lambda it: it.drawn), _tasks_with(answers, _all_skipped)
    for step in evidence.steps:
        if step.queries is None:
            continue
        # Where a task that draws its requests sends the others is not known: shards of any index may have counted them.
        certain = [it for it in step.searches if sent.get(it, 0) and (step.anywhere == 0 or it not in drawn)]
        for task in certain:
            if step.shards.get(task) == 0:
                return _nothing(task, sent[task], answers.get(task, ()), "there is no such index")
        if step.queries == 0 and skipped.isdisjoint(step.searches):
            for task in certain:
                return _nothing(task, sent[task], answers.get(task, ()), "no shard counted any of them")
    steps = _steps_of_tasks(evidence)
    for task, found in answers.items():
        if sent.get(task, 0) and all(map(_nowhere, found)) and _throughout(task, found, steps.get(task, ())):
            return _nothing(task, sent[task], found, "there is no such index")
    return None


def _nothing(task: str, requests: int, answers: Sequence[SearchAnswer], why: str) -> Violation:
    names = {answer.index or "" for answer in answers}
    name = names.pop() if len(names) == 1 else ""
    where = f" of {name}" if name else ""
    return Violation(
        Reason.SEARCHES_HIT_NOTHING,
        f"task {task}: its {requests} searches{where} reached no shard, {why}: correct the index that the task names",
    )


def _tasks_with(answers: Mapping[str, Sequence[SearchAnswer]], holds: Callable[[SearchAnswer], bool]) -> frozenset[str]:
    """Return the tasks of which some answer is such a one, found once: steps name a task as often as a pod likes."""
    return frozenset(task for task, found in answers.items() if any(map(holds, found)))


def _steps_of_tasks(evidence: RequestEvidence) -> dict[str, list[StepCounters]]:
    """Return by task the steps in which its searches ran."""
    found: dict[str, list[StepCounters]] = {}
    for step in evidence.steps:
        for task in dict.fromkeys((*step.searches, *step.others)):
            found.setdefault(task, []).append(step)
    return found


def _nowhere(answer: SearchAnswer) -> bool:
    """Return whether an answer is a whole one, and of no shard."""
    return answer.complete and answer.shards == 0


def _throughout(task: str, answers: Sequence[SearchAnswer], mine: Sequence[StepCounters]) -> bool:
    """Return whether what reached no shard after a task reached none while it ran either, in the steps `mine`.

    An index may have been deleted meanwhile. Of requests that are drawn the answers are some: no search may have
    reached a shard of any index.
    """
    if any(step.shards.get(task) for step in mine):
        return False
    if any(answer.drawn for answer in answers):
        afar = any(":" in (answer.index or "") for answer in answers)
        return bool(mine) and not afar and all(step.anywhere == 0 for step in mine)
    return all(step.shards.get(task) == 0 or step.anywhere is not None for step in mine)


def searches_incomplete(record: Record, _: BenchmarkSpec) -> Violation | None:
    """Return that a search of the schedule was answered in part only: sent once more after its task, or measured."""
    for answer in (it for each in _after(record.requests or RequestEvidence()).values() for it in each):
        if answer.items_failed:
            what = f"{answer.items_failed} of {answer.items} searches in it failed{_because(answer)}"
        elif answer.failed and not answer.parts_wanted:
            what = f"{answer.failed} of {answer.shards} shards failed{_because(answer)}"
        elif answer.timed_out and not answer.timeout_wanted:
            what = "it timed out"
        else:
            continue
        return Violation(
            Reason.SEARCHES_INCOMPLETE,
            f"task {answer.task}: its search was sent once more after the task, and {what}; Rally counts such an "
            "answer as success",
        )
    for text in _measured_in_part(record, allowed=False):
        return Violation(Reason.SEARCHES_INCOMPLETE, f"{text}; Rally counts such an answer as success")
    return None


def _measured_in_part(record: Record, *, allowed: bool) -> Iterator[str]:
    """Yield which measured searches were answered in part, of those that allow it, or of the others."""
    answers = _after(record.requests or RequestEvidence())
    for task in record.tasks:
        mine, which = answers.get(task.task, ()), f"of its {task.samples.normal} measured searches"
        if task.shards_failed and any(it.parts_wanted for it in mine) is allowed:
            yield f"task {task.task}: {task.shards_failed} {which} had failed shards"
        if task.timed_out and any(it.timeout_wanted for it in mine) is allowed:
            yield f"task {task.task}: {task.timed_out} {which} timed out"


def _because(answer: SearchAnswer) -> str:
    return f" ({answer.first_failure})" if answer.first_failure else ""


def remarks(record: Record) -> Iterator[RaceRemark]:
    """Yield what a reader must know of the requests of a race that counts, one remark a reason."""
    if record.outcome.reason is not None:
        return
    evidence = record.requests or RequestEvidence()
    if text := _joined([*_without_hits(evidence), *_measured_without_hits(record), *_lines_without_hits(record)]):
        yield RaceRemark(Reason.SEARCHES_WITHOUT_HITS, text)
    if text := _joined([*_in_doubt(record, evidence), *_lines_not_asked(record), *_lines_in_part(record)]):
        yield RaceRemark(Reason.SEARCHES_IN_DOUBT, text)
    if text := _joined(_rejected(record, evidence)):
        yield RaceRemark(Reason.REQUESTS_REJECTED, text)
    if text := _joined(_uncounted(evidence)):
        yield RaceRemark(Reason.MACHINE_FIGURES_INCOMPLETE, text)


def _joined(found: Iterable[str]) -> str:
    return some_clauses(found, _MOST_NAMED)


def _without_hits(evidence: RequestEvidence) -> Iterator[str]:
    for task, answers in _after(evidence).items():
        found = [it for it in answers if _found_nothing(it)]
        if found and len(answers) > 1:
            yield f"task {task}: {len(found)} of {len(answers)} of its searches found nothing, {_SENT_AGAIN}"
        elif found:
            where = f" in {found[0].index}" if found[0].index else ""
            yield f"task {task}: its search found nothing{where}, sent once more after the task"
        for it in (it for it in answers if it.items_without_hits and not _found_nothing(it)):
            yield f"task {task}: {it.items_without_hits} of {it.items} searches in it found nothing, {_SENT_AGAIN}"


def _measured_without_hits(record: Record) -> Iterator[str]:
    """Yield the tasks that found nothing while they ran, unless what was sent after them is said to find nothing."""
    answers, sent = _after(record.requests or RequestEvidence()), _requests(record)
    for task in record.tasks:
        mine = answers.get(task.task, ())
        # Of a search that does not count its hits Rally says 0, too; of one in pages it says nothing then.
        counted = any(it.hits_exact for it in mine) or task.type in SEARCHES - {"search"}
        if task.most_hits == 0 and counted and not (mine and all(map(_found_nothing, mine))):
            yield f"task {task.task}: none of its {sent[task.task]} searches found anything while it ran"


def _found_nothing(answer: SearchAnswer) -> bool:
    return answer.complete and answer.hits == 0 and bool(answer.shards)


def _lines_without_hits(record: Record) -> Iterator[str]:
    """Yield that no line of a file of requests found anything, where their hits were read."""
    lines = record.http.hits.lines if record.http and record.http.hits else ()
    if lines and not any(lines):
        tasks = ", ".join(task.name for task in record.track.tasks[:3])
        yield f"task {tasks}: none of the first {len(lines)} lines of its file found anything, {_SENT_AGAIN}"


def _lines_not_asked(record: Record) -> Iterator[str]:
    """Yield that not every line of a file of requests was asked again for its hits."""
    http = record.http
    if http and http.hits and http.hits.asked and http.hits.asked < (http.requests or 0):
        tasks = ", ".join(task.name for task in record.track.tasks[:3])
        asked = f"the first {http.hits.asked:,} of the {http.requests:,} lines of its file"
        why = f" ({http.hits.why})" if http.hits.why else ""
        yield f"task {tasks}: what {asked} find was read, and of no other, each {_SENT_AGAIN}{why}"


def _lines_in_part(record: Record) -> Iterator[str]:
    """Yield that an answer in part, which Elasticsearch gives when it has too much to do, would be no error."""
    if record.http and record.http.hits and record.http.hits.parts_allowed:
        tasks = ", ".join(task.name for task in record.track.tasks[:3])
        yield (
            f"task {tasks}: an Elasticsearch with too much to do answers such searches with status 200 and without the "
            "shards that refused them, which is no error here: write allow_partial_search_results=false into their "
            "paths, unless the cluster has search.default_allow_partial_results: false"
        )


def _in_doubt(record: Record, evidence: RequestEvidence) -> Iterator[str]:
    answers, sent = _after(evidence), _requests(record)
    drawn = _tasks_with(answers, lambda it: it.drawn)
    troubles = {name: next((it.trouble for it in found if it.trouble), "") for name, found in answers.items()}
    for task in record.track.tasks:
        looked_for = task.name in answers
        why = troubles[task.name] if looked_for else evidence.not_looked_at.get(task.name, "")
        if why or (not looked_for and task.type in SEARCHES):
            what = "its search" if task.type in SEARCHES | OTHER_SEARCHES else "its search, if it is one,"
            yield f"task {task.name}: {what} was not looked at: {why or 'Elasticsearch was not asked'}"
    for name, looked_at in answers.items():
        if nowhere := sum(map(_nowhere, looked_at)):
            which = f"{nowhere} of {len(looked_at)} of its searches" if len(looked_at) > 1 else "its search"
            yield f"task {name}: {which} reached no shard, {_SENT_AGAIN}"
    for answer in (it for each in answers.values() for it in each):
        if answer.items_nowhere and answer.shards:
            yield (
                f"task {answer.task}: {answer.items_nowhere} of {answer.items} searches in it reached no shard, "
                f"{_SENT_AGAIN}"
            )
        if answer.failed and answer.parts_wanted:
            yield f"task {answer.task}: {answer.failed} of {answer.shards} shards failed, which the search allows"
        if answer.timed_out and answer.timeout_wanted:
            yield f"task {answer.task}: its search ended at the timeout that it names: its times are that timeout"
    yield from (f"{text}, which the search allows" for text in _measured_in_part(record, allowed=True))
    for step in evidence.steps:
        requests = sum(sent.get(task, 0) for task in step.searches)
        counted = step.queries if drawn.isdisjoint(step.searches) else step.anywhere
        if counted and counted < requests:
            yield (
                f"step {step.step} ({', '.join(step.searches)}): shards counted {counted} searches for "
                f"{requests} requests"
            )


def _rejected(record: Record, evidence: RequestEvidence) -> Iterator[str]:
    for task in record.tasks:
        trouble = task.bulk_trouble
        if trouble and trouble.retried:
            yield (
                f"task {task.task}: Elasticsearch refused {trouble.item_errors} documents for want of room, and Rally "
                f"sent {trouble.retried} bulks again: their times hold the wait"
            )
    for step in evidence.steps:
        during = f"rejected while {_during(step)} ran"
        if step.writes_rejected:
            yield f"{step.writes_rejected} writes were {during}"
        if step.searches_rejected:
            yield f"{step.searches_rejected} searches of shards were {during}"


def _uncounted(evidence: RequestEvidence) -> Iterator[str]:
    for step in evidence.steps:
        what = ", and how often shards were searched," if step.searches and step.queries is None else ""
        if step.trouble:
            yield f"how many requests were rejected{what} while {_during(step)} ran could not be read: {step.trouble}"


def _during(step: StepCounters) -> str:
    return ", ".join((*step.searches, *step.others, *step.bulks)) or f"step {step.step}"


def _after(evidence: RequestEvidence) -> dict[str, list[SearchAnswer]]:
    """Return by task what its searches answered after it: one, or some of those that it draws."""
    found: dict[str, list[SearchAnswer]] = {}
    for answer in (it for it in evidence.answers if it.when == AFTER):
        found.setdefault(answer.task, []).append(answer)
    return found


def _all_skipped(answer: SearchAnswer) -> bool:
    """Return whether Elasticsearch knew without a search that no shard has what was asked for."""
    return bool(answer.shards) and answer.skipped == answer.shards


def _requests(record: Record) -> dict[str, int]:
    """Return by task how many of its requests were answered with success, those of the warm-up too."""
    return {
        task.task: task.samples.warmup + task.samples.normal - task.errors.warmup - task.errors.normal
        for task in record.tasks
    }

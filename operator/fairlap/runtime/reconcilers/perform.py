"""Carry out what a plan asks for. Every act can be repeated: names are fixed, "exists" and "gone" are successes."""

from fairlap.api.base import Json
from fairlap.api.names import PAGE_CACHE_ANNOTATION, PAGE_CACHE_OUTCOME_ANNOTATION
from fairlap.kube.api_server import ApiServer
from fairlap.manifests.affinity import avoid_kept, avoid_strangers
from fairlap.manifests.elasticsearch import elasticsearch
from fairlap.manifests.race_job import access, job, progress, record
from fairlap.page_cache.dropping import drop_page_cache, kept
from fairlap.plan.basis.seen import Create, Plan, Seen
from fairlap.plan.basis.steps import is_preparation
from fairlap.plan.explain.trouble import elasticsearch_pods, machines_of
from fairlap.plan.verdict.existing_cluster import race_image
from fairlap.runtime.objects.writes import create_child, unsuspend


async def perform(api_server: ApiServer, seen: Seen, todo: Plan) -> str:
    """Carry out the acts in order; returns a sentence when a foreign object is in the way.

    Raises ApiError when the API server does not do it.
    """
    step = seen.status.step
    if step is None:
        return ""
    for what in todo.create:
        manifests = build_manifests(what, seen)
        if what == "job":
            await _start_alike(api_server, seen, manifests)
        for manifest in manifests:
            if foreign := await create_child(api_server, manifest):
                return foreign
    if todo.start_job and seen.children.job is not None:
        await unsuspend(api_server, seen.children.job)
    for doomed in todo.delete:
        kind = "Elasticsearch" if doomed == "elasticsearch" else "Job"
        there = seen.children.elasticsearch if doomed == "elasticsearch" else seen.children.job
        if there is not None:
            await api_server.delete(kind, there)
    return ""


async def _start_alike(api_server: ApiServer, seen: Seen, jobs: list[Json]) -> None:
    """Have the page cache dropped on the machines of a race's own cluster, and note on its Job what came of it."""
    step, cluster = seen.status.step, seen.children.elasticsearch
    if not seen.settings.page_cache or step is None or is_preparation(step.name) or cluster is None:
        return
    on = machines_of(elasticsearch_pods(seen.children.pods))
    request = f"{seen.subject.uid}-{step.name}"
    if seen.strangers_race:  # what they have read would go in the middle of their races
        dropping = kept(": others race at the same time, maybe on the same machines")
    else:
        dropping = await drop_page_cache(api_server, seen.settings.page_cache, on, request)
    noted = {PAGE_CACHE_ANNOTATION: dropping.sentence, PAGE_CACHE_OUTCOME_ANNOTATION: dropping.outcome}
    for job_manifest in jobs:
        job_manifest["metadata"].setdefault("annotations", {}).update(noted)


def build_manifests(what: Create, seen: Seen) -> list[Json]:
    """Return the manifests that one word of a plan stands for."""
    step, settings = seen.status.step, seen.settings
    if step is None:
        return []
    match what:
        case "elasticsearch":
            status = seen.status
            cluster = elasticsearch(
                seen.subject,
                step.name,
                settings,
                status.node_settings,
                status.track_services,
                status.node_processors,
            )
            return [_away_from_others(cluster, seen)]
        case "record":
            return [record(seen.subject, step.name)]
        case "job":
            image = race_image(seen.status, settings)
            race = job(seen.subject, step.name, settings, image, seen.status.track_revision)
            # What only prepares races is not measured, and does not load a machine for long.
            return [race if is_preparation(step.name) else _away_from_others(race, seen)]
        case "access":
            uid = step.job_uid or ""
            return [progress(seen.subject, step.name, uid), *access(seen.subject, step.name, uid)]


def _away_from_others(manifest: Json, seen: Seen) -> Json:
    # A cluster that stays would keep off for good those that its Comparison has made later.
    demanded = seen.in_block and seen.subject.spec.keep_cluster == "Never"
    apart = avoid_strangers(manifest, seen.subject, seen.beside) if demanded else manifest
    return avoid_kept(apart, seen.kept)

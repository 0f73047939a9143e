"""`fairlap plan`: what a Comparison would do, and what is wrong with it or a Benchmark, before anything is applied.

Without a cluster; with one, what its API server says of them and of each variant, too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from fairlap.api.base import Api, structural_schema
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.names import (
    API_VERSION,
    COMPARISON_KIND,
    KIND,
    MAX_COMPARISON_NAME,
    MAX_NAME,
    NAME_OF_SERVICES,
    NOISE_CONFIG_MAP,
)
from fairlap.api.spec import BenchmarkSpec
from fairlap.cli.edge import manifest_files
from fairlap.cli.edge.exits import FAILED, SUCCEEDED, RefusedError
from fairlap.cli.edge.printable import one_line, print_text, printable
from fairlap.cli.tables.plan_text import Known, plan_text, racing
from fairlap.cli.tables.spec_refusals import field_refusal, top_refusals
from fairlap.comparison.facts.fairness import diff
from fairlap.comparison.noise.expectation import expect
from fairlap.comparison.noise.noise_store import decode_noise, noise_key, priors_for, race_seconds_for
from fairlap.comparison.variants.variants import ResolvedVariant, VariantsRefusedError, expand
from fairlap.plan.acceptance.accept import objections_anywhere
from fairlap.plan.comparison.children import dry_run
from fairlap.plan.comparison.comparison_seen import ComparisonSubject
from fairlap.wording.counts import counted
from fairlap_race.contract.some_of import some_of

if TYPE_CHECKING:
    from fairlap.cli.edge.connection import Connection

Json = dict[str, Any]
Spec = TypeVar("Spec", bound=Api)
_SPECS: dict[str, type[BenchmarkSpec] | type[ComparisonSpec]] = {KIND: BenchmarkSpec, COMPARISON_KIND: ComparisonSpec}
_SHOWN = 5
_GENERATED = "xxxxx"
"""What stands for the end of a generated name, which has as many characters."""


def plan(connect: Callable[[], Connection] | None, files: Sequence[str], known: Known) -> int:
    """Print what each Comparison in `files` would do, and what is wrong with it or a Benchmark; return the exit code.

    `connect` (None: no cluster is asked) opens the cluster whose API server is asked, too. Raises CliError.
    """
    code = SUCCEEDED
    for number, manifest in enumerate(filter(manifest_files.is_of_group, manifest_files.load(files))):
        meta = manifest["metadata"]
        name = str(meta.get("name") or f"{meta.get('generateName')}{_GENERATED}")
        text, wrong = _planned(connect, manifest, name, known)
        if number:
            print_text("")
        if text:
            print_text("\n".join(map(printable, text.splitlines())))
        for sentence in wrong:
            print_text(one_line(f"{name}: {sentence}"), sys.stderr)
        if wrong:
            code = FAILED
    if code == SUCCEEDED:
        print_text(
            "\nNothing was applied."
            + ("" if connect else " --server asks the API server, too, which knows more rules.")
        )
    return code


def _planned(
    connect: Callable[[], Connection] | None, manifest: Json, name: str, known: Known
) -> tuple[str, list[str]]:
    """Return what an object would do ("" where nobody can tell), and a sentence for each thing that is wrong."""
    model = _SPECS.get(manifest["kind"])
    fields = model.model_fields.values() if model else ()
    wrong = top_refusals(manifest, [str(field.alias) for field in fields])
    if model is None or (wrong and "spec" not in manifest):
        return "", wrong
    connect = None if wrong else connect  # the API server would say it once more
    if model is BenchmarkSpec:
        text, more = _benchmark(connect, manifest, name)
    else:
        text, more = _comparison(connect, manifest, name, known)
    return "" if wrong else text, [*wrong, *more]


def _comparison(
    connect: Callable[[], Connection] | None, manifest: Json, name: str, known: Known
) -> tuple[str, list[str]]:
    """Return what a Comparison would do ("" where nobody can tell), and a sentence for each thing that is wrong."""
    spec, variants, wrong = _understood(manifest, name)
    if connect is not None and spec is not None:
        connection = connect()
        wrong = [*wrong, *_refusals(connection, _asked(connection, manifest, name, spec, variants))]
        if variants:
            known = _known_there(connection, manifest["metadata"].get("namespace"), spec, variants, known)
    return plan_text(name, spec, variants, known) if spec is not None and variants else "", wrong


def _benchmark(connect: Callable[[], Connection] | None, manifest: Json, name: str) -> tuple[str, list[str]]:
    """Return what a Benchmark would do in a few words, and a sentence for each thing that is wrong."""
    spec, unread = _read(BenchmarkSpec, manifest)
    wrong = _name_refusals(name, MAX_NAME, built=spec is not None and spec.elasticsearch is not None)
    if spec is None:
        return "", [*wrong, *unread]
    wrong += [it.message for it in objections_anywhere(spec)]
    if connect is not None:
        wrong += _refusals(connect(), [("", manifest)])
    return "" if wrong else f"{name}: a Benchmark of {counted(spec.repetitions, 'race')}", wrong


def _known_there(
    connection: Connection,
    namespace: str | None,
    spec: ComparisonSpec,
    variants: Sequence[ResolvedVariant],
    known: Known,
) -> Known:
    """Return what is known with what the namespace's finished Comparisons have shown of noise."""
    data = (connection.config_map(NOISE_CONFIG_MAP, namespace) or {}).get("data") or {}
    priors = priors_for(decode_noise(data), noise_key(spec, ()), datetime.now(UTC))
    took = race_seconds_for(decode_noise(data), noise_key(spec, ()), datetime.now(UTC))
    expected = expect(spec, racing(spec, variants)[0], known.race_seconds, priors)
    return known._replace(smallest_change=expected.smallest_change, earlier_seconds=took)


def _understood(manifest: Json, name: str) -> tuple[ComparisonSpec | None, list[ResolvedVariant], list[str]]:
    """Return spec and variants as far as they can be understood, and a sentence for each thing that is wrong."""
    spec, unread = _read(ComparisonSpec, manifest)
    wrong = _name_refusals(name, MAX_COMPARISON_NAME, built=spec is not None and bool(spec.template.elasticsearch))
    if spec is None:
        return None, [], [*wrong, *unread]
    if (spec.variants is None) == (spec.matrix is None):
        wrong.append("spec takes exactly one of variants (each with its patch) and matrix (all combinations of values)")
        return None, [], wrong
    try:
        variants = expand(spec)
    except VariantsRefusedError as error:
        return spec, [], [*wrong, *error.objections]
    wrong += _refused_by_all(variants)
    fairness = diff(spec, variants, ())
    if not fairness.fair:
        wrong.append(fairness.sentence)
    return spec, variants, wrong


def _name_refusals(name: str, most: int, *, built: bool) -> list[str]:
    """Return what is wrong with a name; `built`: a cluster is, whose Services are named after it."""
    wrong = []
    if len(name) > most:
        wrong.append(f"metadata.name is {len(name)} characters long: write at most {most}")
    if built and not re.fullmatch(NAME_OF_SERVICES, name):
        wrong.append(f"metadata.name is {name}: write one of a-z, 0-9 and - that begins with a letter, as es-9-0-0")
    return wrong


def _read(model: type[Spec], manifest: Json) -> tuple[Spec | None, list[str]]:
    """Return a manifest's spec, None where it is none, and a sentence for each thing that is wrong then."""
    written = _without_dropped_nulls(manifest.get("spec") or {}, _schema(model))
    try:
        # By the names that the API server knows, and of the types that it takes: it would drop or refuse any other.
        return model.model_validate(written, by_alias=True, by_name=False, strict=True), []
    except ValidationError as error:
        return None, [field_refusal(detail) for detail in error.errors(include_url=False)]


@cache
def _schema(model: type[Api]) -> Json:
    return structural_schema(model)


def _without_dropped_nulls(value: Any, schema: Json) -> Any:
    """Return a value without each null that the API server drops, or takes the default for; elsewhere null stays."""
    if isinstance(value, list):
        return [_without_dropped_nulls(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict) or not schema:
        return value
    fields, others = schema.get("properties", {}), schema.get("additionalProperties")
    of = {key: fields.get(key, others) for key in value}
    return {
        key: _without_dropped_nulls(item, of[key] or {})
        for key, item in value.items()
        if item is not None or of[key] is None or of[key].get("nullable")
    }


def _refused_by_all(variants: Sequence[ResolvedVariant]) -> list[str]:
    """Return what each installation refuses of the variants' Benchmarks, what they have in common once."""
    whose: dict[str, list[str]] = {}
    for variant in variants:
        for objection in objections_anywhere(BenchmarkSpec.model_validate(variant.spec)):
            whose.setdefault(objection.message, []).append(variant.name)
    return [
        f"{'every variant' if len(names) == len(variants) else f'variant {some_of(names, _SHOWN)}'}: {message}"
        for message, names in whose.items()
    ]


def _asked(
    connection: Connection, manifest: Json, name: str, spec: ComparisonSpec, variants: Sequence[ResolvedVariant]
) -> list[tuple[str, Json]]:
    """Return the Comparison and each variant's Benchmark, with the words that say which it is."""
    space = str(manifest["metadata"].get("namespace") or connection.namespace)
    subject = ComparisonSubject(name, space, uid="", generation=1, spec=spec)
    asked: list[tuple[str, Json]] = [("", manifest)]
    asked += [
        (
            f"variant {race.variant}: ",
            {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "metadata": {"name": race.name, "namespace": space},
                "spec": race.spec,
            },
        )
        for race in (dry_run(subject, variants) if variants else ())
    ]
    return asked


def _refusals(connection: Connection, asked: Iterable[tuple[str, Json]]) -> list[str]:
    """Return what the API server says of the objects that it would not take."""
    found = []
    for of, each in asked:
        try:
            connection.apply(each, dry_run=True)
        except RefusedError as error:
            found.append(f"{of}{error}")
    return found

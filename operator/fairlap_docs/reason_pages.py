"""The page docs/reasons.md: each reason of the closed list, with how it shows, its cause and its cure."""

from fairlap_docs.markdown import GENERATED, cell
from fairlap_race.contract.reasons import Reason


def reasons_page() -> str:
    """Return docs/reasons.md: what ends a race or a Benchmark first, then what is only remarked."""
    return (
        f"{GENERATED}# Reasons\n\n"
        "Why a race or a Benchmark did not end well, as it stands in `status.reason`, in `status.races[].reason`, in "
        "conditions and in events. The list is closed: there is no other reason. The message beside the reason has the "
        "words of the part that failed: Rally's, Elasticsearch's, or Kubernetes'. In the messages below … stands for "
        "more text. Each is compared with what the named test produces.\n\n"
        "A race that failed keeps its record, Rally's log and the numbers it had, in its ConfigMap, marked as not "
        "valid; no number of it is in `status.results`. A remark does not make a race invalid: "
        "[remarks](#remarks) stand at the end.\n\n"
        f"{_entries(remark=False)}\n"
        "## Remarks\n\n"
        "What a reader must know of a race although its numbers count. They stand in `status.races[].remarks`, each "
        "with its reason and a message.\n\n"
        f"{_entries(remark=True)}"
    )


def _entries(*, remark: bool) -> str:
    return "\n".join(_entry(reason, "###" if remark else "##") for reason in Reason if reason.remark == remark)


def _entry(reason: Reason, heading: str) -> str:
    return (
        f"{heading} {reason}\n\n{reason.cause} {reason.cure}\n\n- Recognized by: {cell(reason.recognized)}\n"
        f"- Produced by: `{reason.test}`\n\n```text\n{' '.join(reason.example.split())}\n```\n"
    )

"""Nothing that a race's pod writes raises, and each status that is made of it is one that the API server takes."""

from hypothesis import given, settings
from hypothesis import strategies as st
from record_fuzz import check

from fairlap_race.contract.recorded.record import Progress, Record
from fairlap_race.contract.untrusted import unpacked
from fairlap_race.contract.watched_machines.resources import MachineTable


@settings(max_examples=400, derandomize=True)
@given(st.integers(0, 2**40))
def test_mutated_records_are_read_and_judged(number: int) -> None:
    check(number)


@settings(max_examples=300, derandomize=True)
@given(st.text(st.characters()) | st.binary().map(lambda content: content.decode("latin1")))
def test_any_text_is_read(text: str) -> None:
    for read in (Record.from_json, MachineTable.from_json, Progress.from_json, unpacked):
        read(text)

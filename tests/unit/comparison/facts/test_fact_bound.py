"""What is kept of more facts than there is room for: what one race has of it, another one has, too."""

from fairlap.comparison.facts.fact_bound import MOST_FACTS, within_bound

ANSWERS = {f"ran: task t{n}: hits": "7" for n in range(300)}
SETTINGS = {f"ran: index i{n}: setting index.x{m}": "1" for n in range(50) for m in range(14)}
DEFAULTS = {f"ran: index i{n}: default index.d{m}": "1" for n in range(10) for m in range(200)}


def modules(count: int) -> dict[str, str]:
    return {f"ran: module m{n}": "there" for n in range(count)}


def test_what_fits_is_kept_in_its_order() -> None:
    facts = SETTINGS | ANSWERS
    assert list(within_bound(facts)) == list(facts)


def test_parts_go_as_a_whole_and_answers_stay() -> None:
    """Else two races with a module more or less would be cut at other facts, and seem to differ in these."""
    one, other = (within_bound(DEFAULTS | modules(count) | SETTINGS | ANSWERS) for count in (80, 86))
    assert one.keys() ^ other.keys() == modules(86).keys() - modules(80).keys()
    assert ANSWERS.items() <= one.items() and SETTINGS.items() <= one.items()
    assert not DEFAULTS.keys() & one.keys()


def test_there_are_never_more_than_fit() -> None:
    many = {f"ran: index i{n}: setting index.x{m}": "1" for n in range(500) for m in range(14)}
    assert within_bound(many | ANSWERS) == ANSWERS
    assert len(within_bound({f"ran: task t{n}: plan": "x" for n in range(2 * MOST_FACTS)})) == MOST_FACTS

"""What of a container's log goes into a message."""

from fairlap.plan.explain.log_lines import telling_lines

CRASH = """\
[2026-01-01] starting ...
fatal exception while booting Elasticsearch
java.lang.IllegalArgumentException: unknown setting [no.such.setting] please check
\tat org.elasticsearch.common.settings.AbstractScopedSettings.validate(AbstractScopedSettings.java:1)
\tat org.elasticsearch.node.Node.<init>(Node.java:2)
\t... 5 more

"""


def test_stack_frames_do_not_hide_the_cause() -> None:
    words = telling_lines(CRASH * 3)
    assert "unknown setting [no.such.setting]" in words and "\tat " not in words


def test_the_plain_end_when_nothing_names_a_cause() -> None:
    assert telling_lines("a\nb\n") == "a\nb"
    assert telling_lines("") == ""


def test_long_lines_are_cut() -> None:
    assert len(telling_lines("error " + "x" * 10_000)) == 500

"""Nobody writes per cent with a format of their own: a share that is rounded blindly contradicts its sentence.

`as_percent` of the contract and `fairlap.wording.percentages` keep as many figures as it takes.
"""

import ast
from collections.abc import Iterator

from tests.unit.house.test_imports import FILES, module_of, parsed


def rounded_blindly(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of f-strings with `{share:.0%}`, or with `{100 * share:.0f} %`."""
    for text in (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)):
        for part, following in zip(text.values, [*text.values[1:], None], strict=False):
            if isinstance(part, ast.FormattedValue) and part.format_spec is not None:
                unit = str(following.value) if isinstance(following, ast.Constant) else ""
                if ends_with_percent(part.format_spec) or (is_hundredfold(part.value) and unit.startswith(" %")):
                    yield part.lineno


def ends_with_percent(spec: ast.expr) -> bool:
    last = spec.values[-1] if isinstance(spec, ast.JoinedStr) and spec.values else None
    return isinstance(last, ast.Constant) and str(last.value).endswith("%")


def is_hundredfold(value: ast.expr) -> bool:
    factors = (value.left, value.right) if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) else ()
    return any(isinstance(factor, ast.Constant) and factor.value == 100 for factor in factors)


def test_what_is_rounded_blindly() -> None:
    found = ('f"{x:.0%}"', 'f"{x:+.1%} more"', 'f"a {100 * x:.0f} %"', 'f"{x * 100:,.1f} % of it"', 'f"{x:.{n}%}"')
    kept = ('f"{x:.1f} %"', 'f"width:{x * 100:.2f}%"', 'f"{as_percent(x)} of it"', 'f"{x} {y}"', '"%d" % x', 'f"{x:}"')
    assert [text for text in (*found, *kept) if [*rounded_blindly(ast.parse(text))]] == [*found]


def test_every_share_is_written_by_the_functions_for_it() -> None:
    wrong = [f"{module_of(file)}:{line}" for file in FILES for line in rounded_blindly(parsed(file))]
    assert wrong == []

"""Arithmetic that an answer shows can be checked: `16 - 3 = 13` is true or it is not. Rounded results count as true."""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

EQUATION = re.compile(
    r"(?<![\d.,=/*+)(-])([\d(][\d\s.,()+*/×÷x$−–-]{2,60}?)\s*=\s*\$?\s*(-?\d[\d,]*(?:\.\d+)?)(?![\d,]*\d|\.\d|\s*[-+*/x×÷^−–]\s*[\d($])"
)
"""Two sides of which the right one is a number and the end of it: `2 + 3 * 4 = 2 + 12` says nothing of 2."""

MOST = 64
"""Equations looked at."""

READS = 16_384
"""Characters looked at."""

SPELL = str.maketrans({"×": "*", "x": "*", "÷": "/", "−": "-", "–": "-", ",": "", "$": ""})

OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class Equation(NamedTuple):
    """`left` as it can be evaluated, `right` as it was written, without commas."""

    left: str
    right: str


def equations(text: str) -> tuple[Equation, ...]:
    r"""In order.

    >>> equations("she has 16 \u2212 3 = 13 eggs, at $2 x 9 = $18")
    (Equation(left='16 - 3', right='13'), Equation(left='2 * 9', right='18'))
    """
    found = islice(EQUATION.finditer(text[:READS].replace("\\", "")), MOST)
    return tuple([Equation(match[1].translate(SPELL).strip(), match[2].replace(",", "")) for match in found])


def false_sums(shown: Iterable[Equation]) -> int:
    """How many do not hold.

    >>> false_sums(equations("84 * (9 / 14) = 48, so 48 - 20 = 28 are left")), false_sums(equations("8 / 3 = 2.67"))
    (1, 0)
    """
    return sum(holds(equation) is False for equation in shown)


def holds(equation: Equation) -> bool | None:
    """None where the left side is nothing that can be reckoned."""
    value = evaluated(equation.left)
    return None if value is None else is_rounded(value, equation.right)


def evaluated(expression: str) -> float | None:
    """Of numbers, the four operations and brackets; None for anything else, or for what is no operation at all."""
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        return value_of(tree) if isinstance(tree, ast.BinOp) else None
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
        return None


def value_of(node: ast.expr) -> float:
    """Raises ValueError for what is no arithmetic."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -value_of(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        return OPERATIONS[type(node.op)](value_of(node.left), value_of(node.right))
    raise ValueError("no arithmetic")


def is_rounded(value: float, written: str) -> bool:
    """Whether `written` is `value` to as many places as it shows."""
    places = len(written.partition(".")[2])
    slack: float = 0.51 * 10.0**-places + 1e-9 * abs(value)
    return abs(value - float(written)) <= slack

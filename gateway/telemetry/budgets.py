"""What a request did to its budgets, as telemetry sees it: attributes of its two spans, fields of its line."""

from collections.abc import Mapping

from gateway.budgets.told import Budgeted
from gateway.telemetry import names

Value = str | int | list[str]


def reserved(told: Budgeted) -> dict[str, Value]:
    """What was set aside before anybody was asked, or why nothing was."""
    known: dict[str, Value] = {
        names.BUDGETS: list(told.budgets),
        names.BUDGET_RESULT: told.result,
        names.BUDGET_BY: told.by,
    }
    if told.spent:
        known[names.BUDGET_SPENT] = told.spent
    if told.result != "refused":
        known |= {names.RESERVED_MICROUSD: told.reserved_microusd, names.RESERVED_TOKENS: told.reserved_tokens}
    return known


def settled(told: Budgeted) -> dict[str, Value]:
    """What the request came to, which is what stays taken."""
    return {names.SPEND_MICROUSD: told.microusd, names.SPENT_TOKENS: told.tokens}


def line(told: Budgeted) -> Mapping[str, str | int]:
    """Of the request's line."""
    return {"budget": told.result, "budget_by": told.by, "budget_spent": told.spent, "budget_tokens": told.tokens}

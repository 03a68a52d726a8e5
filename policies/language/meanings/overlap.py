"""Does one condition hold whenever another does? Sound, not complete: a "no" may be a "cannot tell"."""

from policies.facts import AUTO
from policies.language.sections.conditions import TokenRange, When


def implies(narrow: When | None, wide: When | None) -> bool:
    """Whatever matches `narrow` also matches `wide`.

    >>> implies(When(tenant=["acme"], stream=True), When(tenant=["acme", "other"]))
    True
    """
    if wide is None:
        return True
    narrow = narrow or When.model_validate({})
    headers = all(
        key in narrow.headers and set(narrow.headers[key]) <= set(values) for key, values in wide.headers.items()
    )
    return headers and all(
        (
            _name(narrow.model_is, wide.model_is),
            set(wide.has or ()) <= set(narrow.has or ()),
            _words(narrow.tenant, wide.tenant),
            _words(narrow.plan, wide.plan),
            wide.stream in (None, narrow.stream),
            _range(narrow.prompt_tokens, wide.prompt_tokens),
            _any(narrow, wide),
            wide.not_ is None or (narrow.not_ is not None and implies(wide.not_, narrow.not_)),
        )
    )


def _name(narrow: str | None, wide: str | None) -> bool:
    return wide in (None, narrow) or (wide == "concrete" and narrow not in (None, AUTO))


def _words(narrow: list[str] | None, wide: list[str] | None) -> bool:
    return wide is None or (narrow is not None and set(narrow) <= set(wide))


def _range(narrow: TokenRange | None, wide: TokenRange | None) -> bool:
    if wide is None:
        return True
    if narrow is None:
        return False
    over = wide.over is None or (narrow.over is not None and narrow.over >= wide.over)
    under = wide.under is None or (narrow.under is not None and narrow.under <= wide.under)
    return over and under


def _any(narrow: When, wide: When) -> bool:
    """`narrow` itself implies one of the wide options, or each of its own options does."""
    if wide.any_of is None or any(implies(narrow, option) for option in wide.any_of):
        return True
    own = narrow.any_of
    return own is not None and all(any(implies(mine, option) for option in wide.any_of) for mine in own)

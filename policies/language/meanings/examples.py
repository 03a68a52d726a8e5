"""`tests:` whether they name what there is. What they expect is looked at when they are run (`own_tests`)."""

from collections.abc import Iterator

from policies.facts import AUTO
from policies.language.draft import Draft
from policies.language.faults import did_you_mean
from policies.language.meanings.routes import routes_of
from policies.language.problem import Problem
from policies.language.tree import Path


def example_names(draft: Draft) -> Iterator[Problem]:
    """Models that are named but not declared."""
    for i, test in enumerate(draft.file.tests):
        given, expect, here = test.given, test.expect, ("tests", i)
        named: list[tuple[Path, str]] = [
            *(((*here, "given", "down", j), model) for j, model in enumerate(given.down or ())),
            *(((*here, "expect", "model.in", j), model) for j, model in enumerate(expect.model_in or ())),
            ((*here, "given", "escalated_to"), given.escalated_to or ""),
            ((*here, "expect", "model"), expect.model or ""),
        ]
        yield from draft.undeclared((*here, "given", "model"), given.model or AUTO, [AUTO])
        for path, model in named:
            if model:
                yield from draft.undeclared(path, model)


def example_meaning(draft: Draft) -> Iterator[Problem]:
    """Routes that are expected and that there are not."""
    names = routes_of(draft.file)
    for i, test in enumerate(draft.file.tests):
        route = test.expect.route
        if route is not None and route not in (*names, "pinned"):
            yield draft.at_value(("tests", i, "expect", "route"), f"names no route{did_you_mean(route, names)}")

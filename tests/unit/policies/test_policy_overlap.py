"""Which condition takes all requests of which other, key by key."""

from typing import Any

import pytest

from policies.language.meanings.overlap import implies
from policies.language.sections.conditions import When

PAIRS = [
    ({"model.is": "small"}, {"model.is": "concrete"}),
    ({"has": ["tools", "images"]}, {"has": ["tools"]}),
    ({"tenant": ["a"]}, {"tenant": ["a", "b"]}),
    ({"tenant.plan": ["a"]}, {"tenant.plan": ["a", "b"]}),
    ({"prompt_tokens": {"over": 9, "under": 20}}, {"prompt_tokens": {"over": 8}}),
    ({"prompt_tokens": {"over": 9, "under": 20}}, {"prompt_tokens": {"under": 21}}),
    ({"header.x": ["a"]}, {"header.x": ["a", "b"]}),
    ({"tenant": ["a"]}, {"any": [{"tenant": ["a", "b"]}, {"stream": True}]}),
    ({"any": [{"tenant": ["a"]}]}, {"any": [{"tenant": ["a"]}, {"stream": True}]}),
    ({"not": {"tenant": ["a", "b"]}}, {"not": {"tenant": ["a"]}}),
    ({"tenant": ["a"], "stream": True}, {"stream": True}),
]
"""narrow, wide"""


def when(given: dict[str, Any]) -> When:
    return When.model_validate(given)


@pytest.mark.parametrize(("narrow", "wide"), PAIRS)
def test_the_narrow_implies_the_wide_and_not_the_other_way(narrow: dict[str, Any], wide: dict[str, Any]) -> None:
    assert implies(when(narrow), when(wide))
    assert not implies(when(wide), when(narrow))


@pytest.mark.parametrize("wide", [wide for _, wide in PAIRS])
def test_a_condition_is_not_implied_by_none_or_by_another_matter(wide: dict[str, Any]) -> None:
    assert not implies(None, when(wide))
    assert not implies(when({"header.other": "x"}), when(wide))


def test_auto_is_no_concrete_name() -> None:
    assert not implies(when({"model.is": "auto"}), when({"model.is": "concrete"}))

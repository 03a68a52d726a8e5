"""Laws of conditions: closures mean what the file says, and "takes all its requests" is never said wrongly."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.facts import AUTO, Facts
from policies.language.meanings.conditions import HAS, compile_when
from policies.language.meanings.overlap import implies
from policies.language.sections.conditions import When

WORDS = st.lists(st.sampled_from(["x", "y", "z"]), min_size=1, max_size=2, unique=True)
RANGES = st.sampled_from([{"over": 5}, {"under": 10}, {"over": 5, "under": 20}, {"over": 9}, {"under": 30}])


def maps(inner: st.SearchStrategy[dict[str, Any]] | None) -> st.SearchStrategy[dict[str, Any]]:
    """A `when` as the file has it."""
    own: dict[str, st.SearchStrategy[Any]] = {
        "model.is": st.sampled_from(["concrete", "auto", "x"]),
        "has": st.lists(st.sampled_from(["tools", "images"]), min_size=1, max_size=2, unique=True),
        "tenant": WORDS,
        "tenant.plan": WORDS,
        "stream": st.booleans(),
        "prompt_tokens": RANGES,
        "header.a": WORDS,
        "header.b": WORDS,
    }
    if inner is not None:
        own |= {"any": st.lists(inner, min_size=1, max_size=2), "not": inner}
    return st.lists(st.sampled_from(sorted(own)), max_size=3, unique=True).flatmap(
        lambda keys: st.fixed_dictionaries({key: own[key] for key in keys})
    )


CONDITIONS = maps(maps(None))
FACTS = st.builds(
    Facts,
    requested=st.sampled_from([AUTO, "x", "y"]),
    prompt_tokens=st.integers(0, 40),
    needs=st.frozensets(st.sampled_from(["tools", "vision"])),
    stream=st.booleans(),
    tenant=st.sampled_from("xyz"),
    plan=st.sampled_from("xyz"),
    headers=st.dictionaries(st.sampled_from("ab"), st.sampled_from("xyz")),
)


def holds(when: dict[str, Any], facts: Facts) -> bool:
    """An oracle over the file's own words."""
    read = {"tenant": facts.tenant, "tenant.plan": facts.plan}
    for key, value in when.items():
        if key == "model.is":
            ok = facts.requested == value if value != "concrete" else facts.requested != AUTO
        elif key == "has":
            ok = all(HAS[what] in facts.needs for what in value)
        elif key == "stream":
            ok = facts.stream == value
        elif key == "prompt_tokens":
            ok = value.get("over", -1) < facts.prompt_tokens < value.get("under", 10**9)
        elif key == "any":
            ok = any(holds(option, facts) for option in value)
        elif key == "not":
            ok = not holds(value, facts)
        else:
            ok = (facts.headers.get(key[7:]) if key.startswith("header.") else read[key]) in value
        if not ok:
            return False
    return True


@settings(max_examples=200, deadline=None)
@given(CONDITIONS, FACTS)
def test_a_compiled_condition_means_what_the_file_says(when: dict[str, Any], facts: Facts) -> None:
    assert compile_when(When.model_validate(when))(facts) == holds(when, facts)


@settings(max_examples=200, deadline=None)
@given(CONDITIONS, CONDITIONS, st.lists(FACTS, min_size=5, max_size=20))
def test_a_condition_that_implies_another_never_matches_without_it(
    narrow: dict[str, Any], wide: dict[str, Any], requests: list[Facts]
) -> None:
    both = {**wide, **narrow}  # share keys often, so that one often implies the other
    for left, right in ((narrow, wide), (both, wide), (both, narrow)):
        if implies(When.model_validate(left), When.model_validate(right)):
            assert all(holds(right, facts) for facts in requests if holds(left, facts))


@settings(max_examples=100, deadline=None)
@given(CONDITIONS)
def test_every_condition_implies_itself_and_no_condition(when: dict[str, Any]) -> None:
    entry = When.model_validate(when)
    assert implies(entry, entry)
    assert implies(entry, None)
    assert implies(None, entry) or when

"""`when:` as closures over facts, and the models that it names."""

from collections.abc import Callable, Iterator, Sequence

from policies.facts import AUTO, Ability, Facts
from policies.language.draft import Draft
from policies.language.problem import Problem
from policies.language.sections.conditions import When
from policies.language.tree import Path
from policies.policy import Matcher, always

HAS: dict[str, Ability] = {
    "tools": "tools",
    "images": "vision",
    "json_schema": "json_schema",
    "embeddings": "embeddings",
}
"""What `has` says of a request → the ability that it needs."""


def headers_of(when: When | None) -> Iterator[str]:
    """Names of the headers that a condition reads."""
    if when is None:
        return
    yield from (key.removeprefix("header.") for key in when.headers)
    for inner in (*(when.any_of or ()), when.not_):
        yield from headers_of(inner)


def compile_when(when: When | None) -> Matcher:
    """A closure that says whether the conditions hold.

    >>> compile_when(When(tenant=["acme"]))(Facts(tenant="acme"))
    True
    """
    if when is None:
        return always
    tests = tuple(_tests(when))
    if len(tests) == 1:
        return tests[0]
    return lambda facts: all(test(facts) for test in tests)


def _tests(when: When) -> Iterator[Matcher]:
    """One closure for each condition."""
    if when.model_is is not None:
        yield _named(when.model_is)
    if when.has is not None:
        yield _needs(frozenset(HAS[what] for what in when.has))
    if when.tenant is not None:
        yield _any_of(lambda facts: facts.tenant, when.tenant)
    if when.plan is not None:
        yield _any_of(lambda facts: facts.plan, when.plan)
    if when.stream is not None:
        yield _streams(when.stream)
    if when.prompt_tokens is not None:
        yield _between(when.prompt_tokens.over, when.prompt_tokens.under)
    if when.any_of is not None:
        yield _either([compile_when(inner) for inner in when.any_of])
    if when.not_ is not None:
        yield _neither(compile_when(when.not_))
    for key, values in when.headers.items():
        yield _header(key.removeprefix("header."), values)


def _named(word: str) -> Matcher:
    if word == "concrete":
        return lambda facts: facts.requested != AUTO
    return lambda facts: facts.requested == word


def _needs(abilities: frozenset[Ability]) -> Matcher:
    return lambda facts: abilities <= facts.needs


def _any_of(read: Callable[[Facts], str], words: Sequence[str]) -> Matcher:
    known = frozenset(words)
    return lambda facts: read(facts) in known


def _streams(wanted: bool) -> Matcher:
    return lambda facts: facts.stream is wanted


def _between(over: int | None, under: int | None) -> Matcher:
    return lambda facts: (over is None or facts.prompt_tokens > over) and (under is None or facts.prompt_tokens < under)


def _header(name: str, values: Sequence[str]) -> Matcher:
    known = frozenset(values)
    return lambda facts: facts.headers.get(name) in known


def _either(matchers: Sequence[Matcher]) -> Matcher:
    return lambda facts: any(matches(facts) for matches in matchers)


def _neither(matches: Matcher) -> Matcher:
    return lambda facts: not matches(facts)


def when_references(draft: Draft, here: Path, when: When | None) -> Iterator[Problem]:
    if when is None:
        return
    if when.model_is is not None:
        yield from draft.undeclared((*here, "model.is"), when.model_is, ["concrete", AUTO])
    for i, option in enumerate(when.any_of or ()):
        yield from when_references(draft, (*here, "any", i), option)
    yield from when_references(draft, (*here, "not"), when.not_)

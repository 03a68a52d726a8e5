"""`shadows:` as the gateway uses them."""

from collections.abc import Collection, Iterator, Sequence

from policies.language.matchers import compile_when, headers_of
from policies.language.sections.shadows import JudgeEntry, ShadowEntry
from policies.shadows.plan import Judge, Limits, Shadow, never


def shadow_headers(entries: Sequence[ShadowEntry]) -> Iterator[str]:
    """Names of the headers that say who is left out."""
    for entry in entries:
        yield from headers_of(entry.never_when)


def compile_shadows(entries: Sequence[ShadowEntry], routes: Collection[str]) -> tuple[Shadow, ...]:
    """The shadows of a file that makes sense and has these routes."""
    return tuple([_shadow(entry, frozenset(routes)) for entry in entries])


def judges_of(entry: ShadowEntry) -> list[JudgeEntry]:
    return [rung for rung in entry.compare if isinstance(rung, JudgeEntry)]


def _shadow(entry: ShadowEntry, routes: frozenset[str]) -> Shadow:
    limits = entry.limits
    return Shadow(
        name=entry.name,
        to=entry.to,
        routes=frozenset(entry.of) & routes,
        models=frozenset(entry.of) - routes,
        sample=entry.sample,
        leaves_out=never if entry.never_when is None else compile_when(entry.never_when),
        compare=tuple(dict.fromkeys([rung for rung in entry.compare if not isinstance(rung, JudgeEntry)])),
        judge=next((Judge(rung.judge, rung.of) for rung in judges_of(entry)), None),
        answer_twice=0.0 if entry.noise_floor is None else entry.noise_floor.answer_twice,
        limits=Limits(
            microusd_per_day=limits.cost,
            in_flight=limits.in_flight,
            queue=limits.queue,
            deadline_s=limits.deadline,
        ),
    )

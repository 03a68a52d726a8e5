"""Which models are to be asked before which, whatever they cost: unsure, in conversation, as fallback."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from policies.escalate.moving import Moved, moved
from policies.estimates import Estimate
from policies.facts import Facts
from policies.pickers.within_target import chances, tier, tiers
from policies.policy import Choose, MayMove, Policy, Route


class Preference(NamedTuple):
    """`rank` of each model that may be asked: lower goes first, cost decides among equals.

    `chance` is P(good) by model, None without an estimate. `why` explains an order that cost alone would not give. `home`
    is the model that the last turn of the conversation was for, "" in its first. `floor` is the place in the ladder below
    which the conversation must not be taken.
    """

    rank: Mapping[str, int]
    chance: Mapping[str, float] | None = None
    why: str = ""
    home: str = ""
    floor: int = 0


def prefer(policy: Policy, route: Route, asked: str, facts: Facts, estimate: Estimate) -> Preference:
    """The preference of `route`; `asked` is the model that a route without a choice uses."""
    taken = moved(policy, route, facts)
    found = (
        Preference({asked: 0}) if route.choose is None else by_difficulty(policy, route.choose, facts, estimate, taken)
    )
    own = found if taken is None or taken.model in found.rank else before_all(found, taken)
    spare = [model for model in route.fallback or () if model not in own.rank]
    if not spare:
        return own
    last = max(own.rank.values())
    return own._replace(rank={**own.rank, **{model: last + 1 + i for i, model in enumerate(spare)}})


def before_all(own: Preference, taken: Moved) -> Preference:
    """A model beside the route's own is asked first, the others as they were after it."""
    return own._replace(rank={taken.model: 0, **{model: 1 + at for model, at in own.rank.items()}}, why=taken.why)


def by_difficulty(policy: Policy, choose: Choose, facts: Facts, estimate: Estimate, taken: Moved | None) -> Preference:
    """Unsure models first, else those that the conversation may be on, else all alike."""
    place = choose.among.index(taken.model) if taken is not None and taken.model in choose.among else None
    if place is not None:
        policy = bound(policy)
    climbs = policy.may_move == "up" and policy.stay_with != "model"
    known = tiers(choose, policy.models, estimate.earlier, (place or 0) if climbs else None)
    if policy.may_move == "up" and facts.was_on in choose.among:
        known = [max([choose.among.index(facts.was_on), *known])]
    if place is not None:
        known = [max([place, *known])]
    home = place_of_home(policy.may_move, known)
    found = from_home(policy, choose, estimate, known, home)
    if home and (policy.may_move == "up" or place is not None):
        found = found._replace(floor=home)
    return found._replace(why=taken.why) if taken is not None and home == place and is_for(found, home) else found


def bound(policy: Policy) -> Policy:
    """Whoever was taken up is not let down by a conversation that may move freely."""
    return msgspec.structs.replace(policy, may_move="up") if policy.may_move == "freely" else policy


def is_for(found: Preference, home: int) -> bool:
    """Whether nobody above `home` goes before it."""
    return list(found.rank.values())[home] == 0


def from_home(policy: Policy, choose: Choose, estimate: Estimate, known: Sequence[int], home: int) -> Preference:
    floor = home if policy.may_move != "freely" else 0
    chance = None if estimate.abstains else chances(choose, policy.models, estimate.p_good)
    if known and policy.may_move == "never":
        return stay(choose, chance, home)._replace(home=choose.among[home])
    if chance is None:
        return unsure(choose, floor, estimate.abstains or "the artefact lacks a head")
    if not known:
        return Preference(dict.fromkeys(choose.among, 0), chance)
    return follow_up(policy, choose, chance, home)._replace(home=choose.among[home])


def place_of_home(may_move: MayMove, known: Sequence[int]) -> int:
    """Where in the ladder the last turn was answered, as far as its history tells: 0 in the first.

    >>> [place_of_home(may_move, [1, 2, 0]) for may_move in ("up", "never", "freely")]
    [2, 1, 0]
    """
    if not known:
        return 0
    return {"up": max(known), "never": known[0], "freely": known[-1]}[may_move]


def follow_up(policy: Policy, choose: Choose, chance: Mapping[str, float], home: int) -> Preference:
    """A later turn of a conversation that is at `home` and may leave it."""
    if policy.may_move == "up" and policy.stay_with == "model":
        return remain(choose, chance, home)
    if policy.may_move == "up" and home > 0:
        return upwards(choose, chance, home)
    return Preference(dict.fromkeys(choose.among, 0), chance)


def unsure(choose: Choose, floor: int, reason: str) -> Preference:
    """First the model for doubt (or the tier that was needed before), then those above it, then those below."""
    at = max(choose.among.index(choose.when_unsure), floor)
    rank = {model: 0 if i == at else 1 if i > at else 2 for i, model in enumerate(choose.among)}
    return Preference(rank, None, f"unsure ({reason})")


def stay(choose: Choose, chance: Mapping[str, float] | None, home: int) -> Preference:
    """The model of the first turn, then any other."""
    rank = {model: int(i != home) for i, model in enumerate(choose.among)}
    return Preference(rank, chance, f"the conversation began on {choose.among[home]}")


def remain(choose: Choose, chance: Mapping[str, float], home: int) -> Preference:
    """The model of the conversation, or a higher one that this turn needs; whatever their replicas have to do."""
    at = max(home, tier(choose, chance, choose.loss_per_reference))
    rank = {model: 0 if i == at else 1 if i > at else 2 for i, model in enumerate(choose.among)}
    said = "this turn needs" if at > home else "the conversation stays with"
    return Preference(rank, chance, f"{said} {choose.among[at]}")


def upwards(choose: Choose, chance: Mapping[str, float], floor: int) -> Preference:
    """The tier that was needed before and those above it; a lower one only when none of them can answer."""
    rank = {model: int(i < floor) for i, model in enumerate(choose.among)}
    return Preference(rank, chance, f"the conversation needed {choose.among[floor]} before")

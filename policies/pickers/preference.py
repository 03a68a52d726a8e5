"""Which models are to be asked before which, whatever they cost: unsure, in conversation, as fallback."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from policies.escalate.moving import Moved
from policies.estimates import Estimate
from policies.facts import Facts
from policies.offer import Offer
from policies.pickers.within_target import chances, tier, tiers
from policies.policy import Choose, MayMove, Policy, Route, StayWith


class Preference(msgspec.Struct, frozen=True):
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


def prefer(policy: Policy, offer: Offer, taken: Moved | None, known: Sequence[int], estimate: Estimate) -> Preference:
    """The preference of a route; `taken` is whom the request is for before anybody is asked, and `known` where in the ladder
    its conversation was (`known_places`)."""
    choose = offer.route.choose
    if choose is None:
        own = Preference(alike(offer, taken))
    else:
        own = by_difficulty(policy, offer, choose, taken=taken, known=known, estimate=estimate)
    if taken is not None and taken.model not in own.rank:
        own = before_all(own, taken)
    return own if own.rank is offer.level else with_fallbacks(own, offer.route)


def alike(offer: Offer, taken: Moved | None) -> Mapping[str, int]:
    """Cost decides among the route's own models."""
    return offer.level if taken is None else dict.fromkeys(offer.own, 0)


def with_fallbacks(own: Preference, route: Route) -> Preference:
    """The same, with the fallbacks that are not among its models after them."""
    spare = [model for model in route.fallback or () if model not in own.rank]
    if not spare:
        return own
    last = max(own.rank.values())
    return replace(own, rank={**own.rank, **{model: last + 1 + i for i, model in enumerate(spare)}})


def before_all(own: Preference, taken: Moved) -> Preference:
    """A model beside the route's own is asked first, the others as they were after it."""
    return replace(own, rank={taken.model: 0, **{model: 1 + at for model, at in own.rank.items()}}, why=taken.why)


def by_difficulty(
    policy: Policy, offer: Offer, choose: Choose, *, taken: Moved | None, known: Sequence[int], estimate: Estimate
) -> Preference:
    """Unsure models first, else those that the conversation may be on, else all alike."""
    chance = None if estimate.abstains else chances(choose, policy.models, estimate.p_good)
    if not known:
        return unsure(choose, 0, estimate) if chance is None else Preference(alike(offer, taken), chance)
    place = place_of(taken, choose)
    may_move = bound(policy.may_move, place)
    home = place_of_home(may_move, known)
    found = from_home(may_move, policy.stay_with, choose, chance, estimate, home)
    if home and (may_move == "up" or place is not None):
        found = replace(found, floor=home)
    return replace(found, why=taken.why) if taken is not None and home == place and is_for(found, home) else found


def known_places(
    policy: Policy, offer: Offer, facts: Facts, taken: Moved | None, earlier: Sequence[Mapping[str, float]]
) -> Sequence[int]:
    """Where in the ladder a conversation was, by the chances of its earlier prefixes, by what another process left word of, and
    by where it was taken; empty in a first turn, and on a route without a ladder."""
    choose = offer.route.choose
    if choose is None or not (earlier or facts.was_on or taken is not None):
        return ()
    place = place_of(taken, choose)
    may_move = bound(policy.may_move, place)
    climbs = may_move == "up" and policy.stay_with != "model"
    known = tiers(offer, earlier, (place or 0) if climbs else None)
    if may_move == "up" and facts.was_on in choose.among:
        known = [max([choose.among.index(facts.was_on), *known])]
    return known if place is None else [max([place, *known])]


def place_of(taken: Moved | None, choose: Choose) -> int | None:
    """Where in the ladder the conversation was taken; None where it was not, or beside it."""
    return choose.among.index(taken.model) if taken is not None and taken.model in choose.among else None


def bound(may_move: MayMove, place: int | None) -> MayMove:
    """Whoever was taken up is not let down by a conversation that may move freely."""
    return "up" if place is not None and may_move == "freely" else may_move


def is_for(found: Preference, home: int) -> bool:
    """Whether nobody above `home` goes before it."""
    return list(found.rank.values())[home] == 0


def from_home(  # noqa: PLR0917  how conversations move, and where this one is
    may_move: MayMove,
    stay_with: StayWith,
    choose: Choose,
    chance: Mapping[str, float] | None,
    estimate: Estimate,
    home: int,
) -> Preference:
    """A later turn of a conversation that is at `home`."""
    if may_move == "never":
        return replace(stay(choose, chance, home), home=choose.among[home])
    if chance is None:
        return unsure(choose, home if may_move == "up" else 0, estimate)
    return replace(follow_up(may_move, stay_with, choose, chance, home), home=choose.among[home])


def place_of_home(may_move: MayMove, known: Sequence[int]) -> int:
    """Where in the ladder the last turn was answered, as far as its history tells.

    >>> [place_of_home(may_move, [1, 2, 0]) for may_move in ("up", "never", "freely")]
    [2, 1, 0]
    """
    return {"up": max(known), "never": known[0], "freely": known[-1]}[may_move]


def follow_up(
    may_move: MayMove, stay_with: StayWith, choose: Choose, chance: Mapping[str, float], home: int
) -> Preference:
    """A later turn of a conversation that is at `home` and may leave it."""
    if may_move == "up" and stay_with == "model":
        return remain(choose, chance, home)
    if may_move == "up" and home > 0:
        return upwards(choose, chance, home)
    return Preference(dict.fromkeys(choose.among, 0), chance)


def unsure(choose: Choose, floor: int, estimate: Estimate) -> Preference:
    """First the model for doubt (or the tier that was needed before), then those above it, then those below."""
    at = max(choose.among.index(choose.when_unsure), floor)
    rank = {model: 0 if i == at else 1 if i > at else 2 for i, model in enumerate(choose.among)}
    return Preference(rank, None, f"unsure ({estimate.abstains or 'the artefact lacks a head'})")


def stay(choose: Choose, chance: Mapping[str, float] | None, home: int) -> Preference:
    """The model of the first turn, then any other."""
    rank = {model: int(i != home) for i, model in enumerate(choose.among)}
    return Preference(rank, chance, f"the conversation began on {choose.among[home]}")


def remain(choose: Choose, chance: Mapping[str, float], home: int) -> Preference:
    """The model of the conversation, or a higher one that this turn needs; whatever their replicas have to do."""
    at = max(home, tier(choose, chance))
    rank = {model: 0 if i == at else 1 if i > at else 2 for i, model in enumerate(choose.among)}
    said = "this turn needs" if at > home else "the conversation stays with"
    return Preference(rank, chance, f"{said} {choose.among[at]}")


def upwards(choose: Choose, chance: Mapping[str, float], floor: int) -> Preference:
    """The tier that was needed before and those above it; a lower one only when none of them can answer."""
    rank = {model: int(i < floor) for i, model in enumerate(choose.among)}
    return Preference(rank, chance, f"the conversation needed {choose.among[floor]} before")

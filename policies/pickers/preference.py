"""Which models are to be asked before which, whatever they cost: unsure, in conversation, as fallback."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from policies.escalate.moving import Moved
from policies.estimates import Estimate
from policies.facts import Facts
from policies.offer import Offer, ranked
from policies.pickers.within_target import by_tier, tier, tiers
from policies.policy import Choose, MayMove, Policy, StayWith


class Preference(msgspec.Struct, frozen=True):
    """`rank` of each model that may be asked, by its place in the offer: lower goes first, cost decides among equals.

    `chance` is P(good) by tier of the ladder, None without an estimate. `why` explains an order that cost alone would not give.
    `home` is the model that the last turn of the conversation was for, "" in its first. `floor` is the place in the ladder
    below which the conversation must not be taken.
    """

    rank: Sequence[int]
    chance: Sequence[float] | None = None
    why: str = ""
    home: str = ""
    floor: int = 0


def prefer(policy: Policy, offer: Offer, taken: Moved | None, known: Sequence[int], estimate: Estimate) -> Preference:
    """The preference of a route; `taken` is whom the request is for before anybody is asked, and `known` where in the ladder
    its conversation was (`known_places`)."""
    choose = offer.route.choose
    chance = None if choose is None or estimate.abstains else by_tier(offer, estimate.p_good) or None
    if choose is None or (chance is not None and not known):
        own = Preference(offer.level, chance)
    elif not known:
        own = unsure(offer, 0, estimate)
    else:
        own = later_turn(policy, offer, choose, taken, known, chance=chance, estimate=estimate)
    return replace(own, why=taken.why) if taken is not None and offer.beside else own


def later_turn(
    policy: Policy,
    offer: Offer,
    choose: Choose,
    taken: Moved | None,
    known: Sequence[int],
    *,
    chance: Sequence[float] | None,
    estimate: Estimate,
) -> Preference:
    """Of a conversation that was at these places."""
    place = place_of(taken, choose)
    may_move = bound(policy.may_move, place)
    home = place_of_home(may_move, known)
    found = from_home(may_move, policy.stay_with, offer, choose, chance, estimate, home)
    if home and (may_move == "up" or place is not None):
        found = replace(found, floor=home)
    return replace(found, why=taken.why) if taken is not None and home == place and found.rank[home] == 0 else found


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


def from_home(  # noqa: PLR0917  how conversations move, and where this one is
    may_move: MayMove,
    stay_with: StayWith,
    offer: Offer,
    choose: Choose,
    chance: Sequence[float] | None,
    estimate: Estimate,
    home: int,
) -> Preference:
    """A later turn of a conversation that is at `home`."""
    if may_move == "never":
        return replace(stay(offer, chance, home), home=offer.own[home])
    if chance is None:
        return unsure(offer, home if may_move == "up" else 0, estimate)
    return replace(follow_up(may_move, stay_with, offer, choose, chance, home), home=offer.own[home])


def place_of_home(may_move: MayMove, known: Sequence[int]) -> int:
    """Where in the ladder the last turn was answered, as far as its history tells.

    >>> [place_of_home(may_move, [1, 2, 0]) for may_move in ("up", "never", "freely")]
    [2, 1, 0]
    """
    return {"up": max(known), "never": known[0], "freely": known[-1]}[may_move]


def follow_up(  # noqa: PLR0917  how conversations move, and where this one is
    may_move: MayMove, stay_with: StayWith, offer: Offer, choose: Choose, chance: Sequence[float], home: int
) -> Preference:
    """A later turn of a conversation that is at `home` and may leave it."""
    if may_move == "up" and stay_with == "model":
        return remain(offer, choose, chance, home)
    if may_move == "up" and home > 0:
        return upwards(offer, chance, home)
    return Preference(offer.level, chance)


def unsure(offer: Offer, floor: int, estimate: Estimate) -> Preference:
    """First the model for doubt (or the tier that was needed before), then those above it, then those below."""
    at = max(offer.doubted, floor)
    why = f"unsure ({estimate.abstains or 'the artefact lacks a head'})"
    return Preference(of_all(offer, from_tier(offer, at)), None, why)


def stay(offer: Offer, chance: Sequence[float] | None, home: int) -> Preference:
    """The model of the first turn, then any other."""
    rank = [int(tier != home) for tier in range(len(offer.own))]
    return Preference(of_all(offer, rank), chance, f"the conversation began on {offer.own[home]}")


def remain(offer: Offer, choose: Choose, chance: Sequence[float], home: int) -> Preference:
    """The model of the conversation, or a higher one that this turn needs; whatever their replicas have to do."""
    at = max(home, tier(choose, chance))
    said = "this turn needs" if at > home else "the conversation stays with"
    return Preference(of_all(offer, from_tier(offer, at)), chance, f"{said} {offer.own[at]}")


def upwards(offer: Offer, chance: Sequence[float], floor: int) -> Preference:
    """The tier that was needed before and those above it; a lower one only when none of them can answer."""
    rank = [int(tier < floor) for tier in range(len(offer.own))]
    return Preference(of_all(offer, rank), chance, f"the conversation needed {offer.own[floor]} before")


def from_tier(offer: Offer, at: int) -> Sequence[int]:
    """The ladder from `at` upwards: that tier first, then all above it, then all below."""
    return [0 if tier == at else 1 if tier > at else 2 for tier in range(len(offer.own))]


def of_all(offer: Offer, own: Sequence[int]) -> Sequence[int]:
    return ranked(own, len(offer.models), beside=offer.beside)

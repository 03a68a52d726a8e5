"""What a settled request was charged, as its route reckons prices, and what the target's reference model would have been."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from backends.messages import Usage
from gateway.request.settle import spend_microusd
from gateway.request.settlement import Settlement
from policies.decision import Call
from policies.offer import price_of
from policies.policy import Choose, Policy, Route
from policies.steering.sight import Decided, bill
from policies.steering.window import Bill


class Settled(NamedTuple):
    """A decision whose request is over: what it was charged, and what was used for it, the answer first."""

    seen: Decided
    microusd: int
    used: tuple[tuple[Call, Usage], ...]


def used_of(settlement: Settlement) -> tuple[tuple[Call, Usage], ...]:
    """The answer, what was given up for it, who was asked beside it; nothing where nobody answered."""
    if settlement.answered_by is None or settlement.usage is None:
        return ()
    answer = (settlement.answered_by, settlement.usage)
    others = ((settlement.abandoned_by, settlement.abandoned), (settlement.beside, settlement.beside_usage))
    return (answer, *[(call, usage) for call, usage in others if call is not None and usage is not None])


def bills(policy: Policy, route: Route, choose: Choose, settled: Iterable[Settled]) -> Iterator[Bill]:
    """Of requests that `route` decided. A ladder without prices is billed by its stand-ins."""
    reference = policy.models[choose.target.of]
    price = price_of(route, reference)
    for one in settled:
        spent = one.microusd if price == reference.price else by_stand_ins(policy, route, one)
        found = bill(policy, route, choose, one.seen, spent=spent, base=spend_microusd(price, one.used[0][1]))
        if found is not None:
            yield found


def by_stand_ins(policy: Policy, route: Route, settled: Settled) -> int:
    return sum([spend_microusd(price_of(route, policy.models[call.model]), usage) for call, usage in settled.used])

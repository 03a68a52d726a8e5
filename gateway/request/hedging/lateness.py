"""Of one process: how long models take to their first content, and how often another replica may be asked meanwhile."""

from dataclasses import dataclass, field

import msgspec

from policies.allowance import Allowance
from policies.facts import Facts
from policies.hedging.ttfts import Ttfts
from policies.policy import Policy
from policies.snapshot import Snapshot


@dataclass(slots=True)
class Hedges:
    ttfts: Ttfts = field(default_factory=Ttfts)
    allowance: Allowance = field(default_factory=Allowance)


def with_ttfts(taken: Snapshot, policy: Policy, facts: Facts, ttfts: Ttfts) -> Snapshot:
    """A snapshot that says when the first content of such a prompt is late, where the policy goes by that."""
    hedging = policy.resilience.hedge
    if hedging is None or not hedging.percentile or not facts.stream:
        return taken
    known = {name: ttfts.percentile(name, facts.tokens_for(name), hedging.percentile) for name in policy.models}
    return msgspec.structs.replace(taken, ttfts={name: late_s for name, late_s in known.items() if late_s})

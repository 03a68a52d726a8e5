"""The gateway as one value: everything that requests share. Built in `wiring`, nowhere else."""

import time
from dataclasses import dataclass, field

from gateway.budgets.ledger import Ledger
from gateway.control.lines import Lines
from gateway.decisions.log import DecisionLog
from gateway.experiments.keeper import Keeper
from gateway.live.in_force import Live
from gateway.live.sharing import SharedStore
from gateway.request.door import Door
from gateway.request.identity import Identity
from gateway.request.snapshot import World
from gateway.settings import Limits, Settings
from gateway.shadows.keeper import Shadows
from gateway.telemetry.observe import Observer
from policies.shadows.plan import names_of


@dataclass(slots=True)
class Gateway:
    """A reload replaces `live` and `identity`, each as a whole. `last_problem` is what kept the last one back. `lines` keeps
    the targets of the policy in force. `decisions` keeps what was decided, None where nobody asked for that; `experiments`
    keeps what they show, and `shadows` asks others the same. `budgets` are the accounts of every policy. `store` is what
    gateways share, None where this one is alone."""

    settings: Settings
    live: Live
    identity: Identity
    door: Door
    world: World
    observer: Observer
    lines: Lines = field(default_factory=Lines)
    decisions: DecisionLog | None = None
    experiments: Keeper = field(default_factory=lambda: Keeper(time.time))
    shadows: Shadows | None = None
    budgets: Ledger = field(default_factory=lambda: Ledger(time.time))
    store: SharedStore | None = None
    last_problem: str = ""
    started_at: int = field(default_factory=lambda: int(time.time()))

    @property
    def limits(self) -> Limits:
        return self.settings.limits

    def takes(self, live: Live, text: str) -> None:
        """`live` is in force from here on, read from `text`: whoever goes by its policy hears of it."""
        policy = live.policy
        if self.decisions is not None:
            self.decisions.policy_loaded(policy, text)
        self.experiments.policy_loaded(policy)
        self.live, self.last_problem = live, ""
        if self.shadows is not None:
            self.shadows.policy_loaded(live)
        dialects = {model.name: model.dialect for model in policy.every_model}
        self.observer.policy_loaded(
            policy.hash,
            [route.name for route in policy.routes],
            dialects,
            policy.experiments,
            dialects,
            shadows=names_of(policy.shadows, policy.experiments),
            budgets=[budget.name for budget in policy.budgets],
        )

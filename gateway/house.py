"""The gateway as one value: everything that requests share. Built in `wiring`, nowhere else."""

import time
from dataclasses import dataclass, field

from gateway.live.in_force import Live
from gateway.request.door import Door
from gateway.request.identity import Identity
from gateway.request.snapshot import World
from gateway.settings import Limits, Settings
from gateway.telemetry.observe import Observer


@dataclass(slots=True)
class Gateway:
    """A reload replaces `live` and `identity`, each as a whole. `last_problem` is what kept the last one back."""

    settings: Settings
    live: Live
    identity: Identity
    door: Door
    world: World
    observer: Observer
    last_problem: str = ""
    started_at: int = field(default_factory=lambda: int(time.time()))

    @property
    def limits(self) -> Limits:
        return self.settings.limits

"""How much of the machine others used meanwhile (Linux). A number that was taken beside a busy neighbour says so."""

import os
import resource
import time
from dataclasses import dataclass

QUIET_SHARE = 0.1
LOOK_S = 1.0


@dataclass(frozen=True)
class Clock:
    """Processor seconds: of the whole machine, and of this process with its ended children."""

    at_s: float
    busy_s: float
    own_s: float

    @staticmethod
    def read() -> "Clock":
        with open("/proc/stat") as file:
            user, nice, system, _, _, irq, soft, *_ = (int(field) for field in file.readline().split()[1:])
        uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        busy = (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")
        return Clock(time.perf_counter(), busy, sum(use.ru_utime + use.ru_stime for use in uses))


def foreign_share(since: Clock) -> float:
    """Cores that others kept busy since then, on average; 0.5 is half of one core."""
    now = Clock.read()
    return max(0.0, (now.busy_s - since.busy_s - now.own_s + since.own_s) / (now.at_s - since.at_s))


def await_quiet(patience_s: float) -> bool:
    """Wait until others use less than a tenth of a core for a second; False when they never did."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        before = Clock.read()
        time.sleep(LOOK_S)
        if foreign_share(before) < QUIET_SHARE:
            return True
    return False

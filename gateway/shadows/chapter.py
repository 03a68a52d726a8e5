"""One shadow as it is kept: what became of the requests that it drew, and what comparing has shown."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Literal, get_args

import msgspec

from policies.shadows.evidence import Evidence
from policies.shadows.judged import Judged
from policies.shadows.plan import Shadow

Result = Literal[
    "compared", "failed", "no_room", "over_budget", "resting", "unfit", "too_long", "no_answer", "not_compared",
    "unchanged", "refused",
]  # fmt: skip
"""
compared      both answers are there, and were compared
failed        the shadow's model failed, or was late
no_room       the queue was full
over_budget   the day's money is spent, or its folder cannot be written
resting       the model failed several times in a row, or no replica of it is there
unfit         it cannot be asked this, or not for this caller
too_long      a request or an answer that is too long to be kept until it is compared
no_answer     the primary gave none that could be compared: an error, a client that left
not_compared  a library that comparing needs failed
unchanged     a rollout's change asks the same of the same model
refused       by a rollout's change nobody may answer
"""

RESULTS: tuple[str, ...] = get_args(Result)


class Chapter(msgspec.Struct, frozen=True, kw_only=True):
    """`print` stands for what makes evidence comparable. Times in seconds since the epoch. `taken_microusd` is what is spent or
    set aside of this day's `cap_microusd`; `microusd` all that was ever spent. `judge` is the model that says which answer is
    better, "" where none does. `twice` counts second answers of the primary, `shadow_ms` and `primary_ms` sum the times of
    compared pairs."""

    name: str
    to: str
    print: str
    begun_at: float
    at: float = 0.0
    results: Mapping[str, int] = {}
    twice: int = 0
    evidence: Evidence = {}
    judge: str = ""
    judged: Judged = Judged()
    microusd: int = 0
    taken_microusd: int = 0
    cap_microusd: int | None = None
    primary_microusd: int = 0
    shadow_microusd: int = 0
    primary_ms: float = 0.0
    shadow_ms: float = 0.0

    @property
    def compared(self) -> int:
        return self.results.get("compared", 0)


def print_of(shadow: Shadow, serves: str) -> str:
    """`serves` is what the shadow's model is at its server. Shares and limits may change, evidence goes on."""
    judge = () if shadow.judge is None else (shadow.judge.model,)
    told = (
        shadow.name,
        shadow.to,
        serves,
        sorted(shadow.routes),
        sorted(shadow.models),
        sorted(shadow.compare),
        *judge,
    )
    return blake2b(msgspec.json.encode(told), digest_size=8).hexdigest()


def counted(chapter: Chapter, result: Result) -> Chapter:
    results = {**chapter.results, result: chapter.results.get(result, 0) + 1}
    return msgspec.structs.replace(chapter, results=results)

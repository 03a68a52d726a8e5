"""How likely each model answers well, as a classifier sees it; and the sample that its thresholds are solved on."""

from collections.abc import Mapping

import msgspec


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Calibrated chances for one conversation.

    `p_good` maps a head of the artefact ("small", "large") to P(a model of that head answers well) for the
    conversation as it stands. `earlier` holds the same for each shorter prefix of the conversation that ended in a
    turn of the user, oldest first: a tier that was needed once is kept, without any state on the server.
    `abstains` is the reason why there is no estimate, or "".
    """

    p_good: Mapping[str, float] = {}
    earlier: tuple[Mapping[str, float], ...] = ()
    abstains: str = ""
    artefact: str = ""
    took_us: int = 0


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Held-out prompts on which thresholds are solved: for each head, P(good) of every prompt, aligned by position."""

    p_good: Mapping[str, tuple[float, ...]]
    artefact: str = ""

    def __len__(self) -> int:
        return len(next(iter(self.p_good.values()), ()))

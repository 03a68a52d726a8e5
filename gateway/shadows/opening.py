"""Part of wiring: shadows with what they work with."""

import time
from collections.abc import Callable
from functools import partial

from backends.transport import FastTransport
from gateway.decisions.log import DecisionLog
from gateway.live.in_force import Live
from gateway.settings import BadSettings, Settings
from gateway.shadows.compare import Comparer
from gateway.shadows.keeper import Shadows
from gateway.shadows.libraries import open_embeds
from gateway.shadows.narrow import NarrowTransport
from gateway.shadows.reach import Reach
from gateway.shadows.rollouts import Rollouts
from gateway.shadows.shelf import Shelf
from gateway.shadows.till import Common, Till
from gateway.telemetry.observe import Observer


def open_shadows(
    settings: Settings,
    live: Callable[[], Live],
    observer: Observer,
    decisions: DecisionLog | None,
    inside: Callable[[], int],
    *,
    rollouts: Rollouts,
    common: Common | None,
) -> Shadows:
    """With connections of their own, and the day's money in `common` where gateways share it. Raises BadSettings where their
    folder cannot be written."""
    folder = settings.shadows_dir
    shelf = Shelf(folder) if folder is not None else None
    try:
        if shelf is not None:
            shelf.claim()
    except OSError as error:
        raise BadSettings(f"shadows: their folder cannot be written: {error}") from None
    return Shadows(
        live,
        Reach(NarrowTransport(FastTransport())),
        Till(folder, time.time, common),
        Comparer(partial(open_embeds, settings.embedder)),
        observer.shadow_ended,
        (lambda _: None) if decisions is None else decisions.compared,
        rollouts,
        shelf,
        inside,
    )

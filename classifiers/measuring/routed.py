"""What an order of the prompts comes to as a router, or always one model: every measure with its bootstrap interval."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from classifiers.measuring import metrics
from classifiers.measuring.metrics import Floats, Rows, has_gap, interval

SHARES = (0.2, 0.4, 0.6)
QUALITIES = (0.95, 0.98)

Interval = tuple[float, float]
Bounds = tuple[float | None, float | None]
_Values = Mapping[str, Mapping[str, float]]
_Spans = Mapping[str, Mapping[str, Interval]]


class Router(msgspec.Struct, frozen=True, kw_only=True):
    """How one order of the prompts routes. Intervals: 95 % percentile bootstrap over prompts, as far as the value inside.
    `apgr` and `cpt` are None where the large model is no better on average, and intervals pass over draws in which it is not.

    `auc` is P(a prompt on which the large model gains is ranked above one on which it doesn't).
    `quality_at` maps a share of large calls to mean quality; `share_for` a part of the large model's quality to the
    smallest share of large calls that reaches it, None where no share does. Without an order there is quality alone.
    """

    quality_at: Mapping[str, float]
    quality_at_95: Mapping[str, Interval]
    share_for: Mapping[str, float | None]
    share_for_95: Mapping[str, Bounds]
    apgr: float | None = None
    apgr_95: Interval | None = None
    cpt50: float | None = None
    cpt50_95: Interval | None = None
    cpt80: float | None = None
    cpt80_95: Interval | None = None
    auc: float | None = None
    auc_95: Interval | None = None


def routed(order: Floats, small: Floats, large: Floats, draws: Sequence[Rows]) -> Router:
    """Prompts go to the large model in this order [n], highest first."""
    return _router(lambda rows: _ordered(order[rows], small[rows], large[rows]), small, draws)


def constant(share: float, small: Floats, large: Floats, draws: Sequence[Rows]) -> Router:
    """All prompts go to the large model (`share` 1) or none (0)."""
    return _router(lambda rows: _constant(share, small[rows], large[rows]), small, draws)


def resampled(size: int, resamples: int) -> list[Rows]:
    """The draws of a bootstrap, the same in every run."""
    draw = np.random.default_rng(0)
    return [draw.integers(0, size, size) for _ in range(resamples)]


def _router(of: Callable[[Rows], _Values], small: Floats, draws: Sequence[Rows]) -> Router:
    values, drawn = of(np.arange(len(small))), [of(rows) for rows in draws]
    spans = {
        kind: {at: interval([one[kind][at] for one in drawn if at in one[kind]], told) for at, told in found.items()}
        for kind, found in values.items()
    }
    return _told(values, spans)


def _told(values: _Values, spans: _Spans) -> Router:
    alone = {**values["alone"], **{f"{name}_95": span for name, span in spans["alone"].items()}}
    return msgspec.convert(
        {
            "quality_at": values["quality_at"],
            "quality_at_95": spans["quality_at"],
            "share_for": {part: _reached(share) for part, share in values["share_for"].items()},
            "share_for_95": {part: tuple(map(_reached, span)) for part, span in spans["share_for"].items()},
            **alone,
        },
        type=Router,
    )


def _ordered(order: Floats, small: Floats, large: Floats) -> _Values:
    curve = metrics.deferral_curve(order, small, large)
    shares = {part: metrics.share_for(part * float(large.mean()), curve) for part in QUALITIES}
    return {
        "alone": {**(_of_the_gap(curve) if has_gap(small, large) else {}), "auc": metrics.auc(order, large > small)},
        "quality_at": {f"{share:g}": float(np.interp(share, curve.share, curve.quality)) for share in SHARES},
        "share_for": {f"{part:g}": np.inf if share is None else share for part, share in shares.items()},
    }


def _of_the_gap(curve: metrics.Curve) -> Mapping[str, float]:
    cpt = {f"cpt{part}": metrics.cpt_of(curve, part / 100) for part in (50, 80)}
    return {"apgr": metrics.apgr_of(curve), **cpt}


def _constant(share: float, small: Floats, large: Floats) -> _Values:
    mean, best = float((large if share else small).mean()), float(large.mean())
    return {
        "alone": {},
        "quality_at": {f"{at:g}": mean for at in SHARES},
        "share_for": {f"{part:g}": share if mean >= part * best else np.inf for part in QUALITIES},
    }


def _reached(share: float) -> float | None:
    return None if np.isinf(share) else share

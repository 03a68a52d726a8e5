"""A small share of conversations is answered by a tier that is drawn, so that later evaluation is unbiased.

The draw belongs to a conversation: it names one tier of the ladder for all its turns. So who was drawn up stays up, and
whoever has the opening of a conversation has its draw, without any state. What a turn may not be given (a tier below the
floor of its conversation, a model that cannot take it, or is down) is not given by a draw either.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple


class Drawn(NamedTuple):
    """`model` is asked first in place of the choice, or "". `propensity` is the chance, over draws, with which each model
    would have been asked first; empty where nothing is drawn."""

    model: str = ""
    propensity: Mapping[str, float] = {}


NOTHING = Drawn()


def explore(
    share: float, among: Sequence[str], *, floor: int, ready: Collection[str], chosen: str, draw: float
) -> Drawn:
    """`floor` is the lowest place of the ladder `among` that may be asked; `ready` the models that can take the request now.

    >>> both = {"small", "large"}
    >>> explore(0.02, ("small", "large"), floor=0, ready=both, chosen="small", draw=0.999)
    Drawn(model='large', propensity={'small': 0.99, 'large': 0.01})
    >>> explore(0.02, ("small", "large"), floor=1, ready=both, chosen="large", draw=0.981)
    Drawn(model='', propensity={'large': 1.0})
    """
    if not share:
        return NOTHING
    others = [model for model in among[floor:] if model in ready and model != chosen]
    each = share / len(among)
    propensity = {chosen: 1.0 - each * len(others), **dict.fromkeys(others, each)}
    model = drawn(share, among, draw)
    return Drawn(model if model in others else "", propensity)


def drawn(share: float, among: Sequence[str], draw: float) -> str:
    """The tier that a conversation with this draw, in [0, 1), is to have; "" for all but a `share` of them.

    >>> [drawn(0.5, ("small", "large"), draw) for draw in (0.0, 0.49, 0.5, 0.74, 0.75, 0.99)]
    ['', '', 'small', 'small', 'large', 'large']
    """
    above = draw - (1.0 - share)
    if above < 0:
        return ""
    return among[min(int(above / share * len(among)), len(among) - 1)]

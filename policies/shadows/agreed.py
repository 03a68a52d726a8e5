"""What is known of two answers by whether they come to the same: right answers do, and wrong ones now and then (estimating
accuracy from agreement: Platanios, Blum and Mitchell, 2014).

Over all pairs, those that agree and those that do not, the chances come to what they were before, where that was true. So
both count, or neither may: agreement alone would make every model look good.
"""

COINCIDE = 0.4
"""Of pairs of wrong answers, those that are the same. Of 28 models' choices among ten options it is 0.35, 0.29 to 0.41 for most
pairs; fewer options leave less room."""

LEAST = 0.02
"""No model is surer than this to be wrong, or right."""


def right_if_same(one: float, other: float) -> float:
    """The chance that both of two answers are right, which are so with these chances, where they come to the same.

    >>> round(right_if_same(0.6, 0.9), 3), round(right_if_same(0.5, 0.5), 3)
    (0.971, 0.714)
    """
    one, other = bounded(one), bounded(other)
    both, neither = one * other, (1 - one) * (1 - other)
    return both / (both + COINCIDE * neither)


def right_if_other(one: float, other: float) -> float:
    """The chance that the first is right, where they come to something else: at most one is.

    >>> round(right_if_other(0.6, 0.9), 3), round(right_if_other(0.9, 0.6), 3)
    (0.135, 0.811)
    """
    one, other = bounded(one), bounded(other)
    alone, beaten, neither = one * (1 - other), other * (1 - one), (1 - one) * (1 - other)
    return alone / (alone + beaten + (1 - COINCIDE) * neither)


def bounded(chance: float) -> float:
    return min(1 - LEAST, max(LEAST, chance))

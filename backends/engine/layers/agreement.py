"""Which sizes give the same bits.

A library may sum in another order when a matrix has more rows, so the same row alone and in a batch can differ in its last
bit. No document says when; so it is measured at load, on this machine with these thread counts, and only sizes that agree
are used. Random values tell orders of summation apart with near certainty: thousands of sums would have to round alike.
"""

from collections.abc import Callable, Sequence

ENOUGH = 8
"""A set that starts above so many times the smallest size makes small things dear; a smaller top is tried first."""


def agreeing(sizes: Sequence[int], same: Callable[[int, int], bool]) -> tuple[int, ...]:
    """The sizes, rising, whose results `same(size, top)` calls equal to those of the largest useful one.

    >>> agreeing([1, 2, 4, 8], lambda size, top: size > 1)
    (2, 4, 8)
    """
    for top in sorted(sizes, reverse=True):
        kept = (*(size for size in sorted(sizes) if size < top and same(size, top)), top)
        if kept[0] <= ENOUGH * min(sizes):
            return kept
    return (min(sizes),)


def fitting(sizes: Sequence[int], count: int) -> int:
    """The smallest size that holds `count`, or the largest there is."""
    return next((size for size in sizes if size >= count), sizes[-1])


def cut(count: int, sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """`count` things as (start, end, size) pieces, each padded up to an agreeing size.

    >>> cut(11, (2, 4, 8))
    [(0, 8, 8), (8, 11, 4)]
    """
    largest = sizes[-1]
    starts = range(0, count, largest)
    return [(at, min(at + largest, count), fitting(sizes, count - at)) for at in starts]

"""Quantities with units: what is read, and what a wrong one is told."""

import re
from collections.abc import Callable

import pytest

from policies.estimates import Calibration
from policies.language.values import quantities


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (quantities.tokens, 0, 0),
        (quantities.tokens, "1.5k", 1500),
        (quantities.tokens, "2M", 2_000_000),
        (quantities.tokens, "1Mi", 1_048_576),
        (quantities.seconds, "1.5 h", 5400.0),
        (quantities.milliseconds, "0.2ms", 1),
        (quantities.price, "$0/M", 0),
        (quantities.price, "$0.002/k", 2_000_000),
        (quantities.share, "97.5% of a/b:c", quantities.Share(97.5, "a/b:c")),
    ],
)
def test_a_quantity_is_read_exactly(read: Callable[[object], object], text: object, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "told"),
    [
        (quantities.tokens, "32 k", "should be a number of tokens"),
        (quantities.tokens, True, "should be a number of tokens"),
        (quantities.tokens, -1, "should be a number of tokens"),
        (quantities.tokens, "0.0001k", "whole number of tokens"),
        (quantities.seconds, 5, "needs a unit: 5ms, 5s, 5m or 5h"),
        (quantities.seconds, "0s", "more than no time"),
        (quantities.seconds, "1d", "such as 800ms, 5s or 2m"),
        (quantities.price, 0.05, "needs a unit: $0.05/M (per million tokens) or $0.05/k (per thousand)"),
        (quantities.price, "0.05/M", "such as $0.05/M"),
        (quantities.price, "$1e3/M", "such as $0.05/M"),
        (quantities.share, 40, "needs a reference: 40% of MODEL"),
        (quantities.share, "40%", "such as"),
        (quantities.share, ["40% of large"], "such as"),
    ],
)
def test_a_wrong_quantity_is_told_what_it_could_be(read: Callable[[object], object], text: object, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        read(text)


def test_a_calibration_sample_is_as_long_as_its_heads() -> None:
    assert len(Calibration(p_good={"small": (0.1, 0.2), "large": (0.3, 0.4)})) == 2
    assert len(Calibration(p_good={})) == 0

"""Which stage estimated is told where decisions are told: /v1/route as text, and the trace."""

import msgspec
import pytest

from gateway.pages.route_text import route_text
from gateway.telemetry import names
from gateway.telemetry.traces.attributes import _estimated
from policies.decision import Call, Decision
from policies.estimates import Estimate, Stage

ENDS = ({"small": 0.9, "large": 0.91}, {"small": 0.85, "large": 0.93})
DECIDED = Decision(steps=(Call("small", "http://s"),), route="default", reason="small: easy", policy_hash="0123")


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        ("quick", "stage     quick: small 0.900 to 0.850, large 0.910 to 0.930 come to one model"),
        ("full", "stage     full: small 0.900 to 0.850, large 0.910 to 0.930 left it open, so the text was embedded"),
    ],
)
def test_the_stage_and_what_the_quick_one_left_open_are_a_line_of_the_text(stage: Stage, told: str) -> None:
    estimate = Estimate(p_good={"small": 0.88, "large": 0.92}, stage=stage, ends=ENDS)
    assert told in route_text(DECIDED, estimate).splitlines()
    assert _estimated(estimate)[names.STAGE] == stage


def test_where_there_is_but_one_stage_nothing_is_said_of_it() -> None:
    estimate = Estimate(p_good={"small": 0.88, "large": 0.92})
    assert "stage" not in route_text(DECIDED, estimate)
    assert names.STAGE not in _estimated(estimate)


@pytest.mark.parametrize("estimate", [Estimate(p_good={"small": 0.88}), Estimate(abstains="late")])
def test_a_language_is_told_beside_an_estimate_and_without_one(estimate: Estimate) -> None:
    german = msgspec.structs.replace(estimate, language="German")

    assert "language  German" in route_text(DECIDED, german).splitlines()
    assert _estimated(german)[names.LANGUAGE] == "German"
    assert names.LANGUAGE not in _estimated(estimate)
    assert "language" not in route_text(DECIDED, estimate)

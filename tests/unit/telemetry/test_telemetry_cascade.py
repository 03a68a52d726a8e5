"""An answer that was held back: what the line, the span and the counters say of it."""

import json

import pytest
from telemetry_world import SMALL, USAGE, decision, facts, settlement

from backends.messages import Usage
from policies.decision import Call

LARGE = Call("large", "http://large/v1")
GIVEN_UP = Usage(120, 9)


def settled(world, **changes) -> None:
    world.observer.policy_loaded("0123456789abcdef", ["chat"], ["small", "large"])
    request = world.begin()
    decided = decision(SMALL)
    request.decided(facts(), decided, None)
    request.settle(settlement(request.request_id, decision=decided, answered_by=LARGE, usage=USAGE, **changes))


def test_an_answer_that_was_given_up_is_told_with_its_cost(world):
    settled(
        world,
        microusd=900,
        judgement="escalated",
        p_correct=0.1234,
        abandoned_by=SMALL,
        abandoned=GIVEN_UP,
        abandoned_microusd=40,
    )

    line = json.loads(world.lines.getvalue())
    told = ("judgement", "p_correct", "abandoned_model", "abandoned_tokens", "abandoned_microusd", "microusd")
    assert [line[name] for name in told] == ["escalated", 0.123, "small", 9, 40, 900]
    page = world.metrics.page().decode()
    assert 'router_judgements_total{router_judgement="escalated",router_route="chat"} 1.0' in page
    assert 'router_abandoned_spend_microusd_total{gen_ai_request_model="small",router_route="chat"} 40.0' in page
    assert 'usage_output_tokens_total{gen_ai_response_model="small"} 9.0' in page


@pytest.mark.parametrize(
    ("ended", "link"), [("cancelled", "escalation"), ("stream_cut", "fallback"), (None, "beside")], ids=str
)
async def test_the_span_of_a_larger_model_says_why_it_was_asked(world, ended, link):
    request = world.begin()
    small = request.attempt(SMALL, 1)
    if ended is not None:
        small.end(ended, None)
    request.attempt(LARGE, 2).end("", USAGE)
    request.settle(settlement(request.request_id))

    (asked,) = [span for span in await world.over() if span.name == "chat large"]
    assert [dict(one.attributes) for one in asked.links] == [{"router.link.type": link}]


def test_an_answer_that_nobody_held_back_says_nothing_of_it(world):
    settled(world)

    assert "judgement" not in json.loads(world.lines.getvalue())
    assert 'router_judgements_total{router_judgement="kept",router_route="chat"} 0.0' in world.metrics.page().decode()

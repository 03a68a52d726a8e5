"""Baggage: variants alone, and only toward hosts that are named."""

import msgspec
import pytest
from telemetry_world import LARGE, SMALL, decision, facts, settlement

from gateway.telemetry.traces.baggage import Baggage
from policies.decision import Call
from policies.experiments.plan import Assignment

TRIED = (Assignment("price", "treat;,=\r\n", "digest-of-a-user", 0.5), Assignment("tone", "b", "", 0.5))
TOLD = "experiment.price=treat%3B%2C%3D%0D%0A,experiment.tone=b"


@pytest.mark.parametrize(
    ("hosts", "replica", "told"),
    [
        (["10.0.0.1"], "http://10.0.0.1:8000/v1", TOLD),
        (["10.0.0.1:8000"], "http://10.0.0.1:8000/v1", TOLD),
        (["10.0.0.1:8001"], "http://10.0.0.1:8000/v1", ""),
        (["MODELS.example"], "https://models.example/v1", TOLD),
        (["example"], "https://models.example/v1", ""),
        ([], "http://10.0.0.1:8000/v1", ""),
        (["m"], "in-process:m", ""),
        (["h"], "http://h:notaport", ""),
        (["user"], "http://user:word@h/v1", ""),
    ],
)
def test_a_host_is_told_the_variants_if_it_is_named(hosts, replica, told):
    assert Baggage(hosts).toward(replica, TRIED) == told


def test_without_variants_there_is_none():
    assert Baggage(["10.0.0.1"]).toward("http://10.0.0.1:8000", ()) == ""


async def test_a_callers_own_baggage_goes_nowhere(world):
    request = world.begin({"baggage": "user=someone"})
    request.decided(facts(), msgspec.structs.replace(decision(SMALL), assignments=TRIED), None)
    near, far = request.attempt(SMALL, 1), request.attempt(Call("large", "http://elsewhere:1"), 2)

    assert near.headers["baggage"] == TOLD
    assert near.headers["traceparent"].split("-")[1] == far.headers["traceparent"].split("-")[1] == request.trace_id
    assert "baggage" not in far.headers
    assert dict(request.attempt(LARGE, 3).headers) == {}
    request.settle(settlement(request.request_id))

"""What a request was made of goes when it is over: nothing waits in circles for the collector of cycles."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.plain_client import chat_body, connected
from servers.running_gateway import one_model, running_gateway
from upstreams.fake_upstream import Reply, fake_upstream, finish_chunk, json_reply, sse_reply, text_chunk

from backends.messages import ChatRequest
from backends.transport.exchange import Exchange
from gateway.connection.caller import Caller
from gateway.request.settlement import Settlement
from gateway.settings import Telemetry
from gateway.telemetry.seen import AttemptSeen, RequestSeen
from policies.decision import Decision

OF_A_REQUEST = (Caller, Exchange, RequestSeen, AttemptSeen, Settlement, Decision, ChatRequest)
MESSAGE = {"role": "assistant", "content": "hi"}
WHOLE = json_reply({"id": "1", "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]})
STREAM = sse_reply(text_chunk("hi"), finish_chunk(), b"data: [DONE]\n\n")


@pytest.fixture
def circles() -> Iterator[list[object]]:
    """What the collector finds is kept here; what was there before is none of its business."""
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield gc.garbage
    gc.set_debug(0)
    gc.garbage.clear()
    gc.unfreeze()
    gc.enable()


@pytest.mark.parametrize(("reply", "stream"), [(WHOLE, False), (STREAM, True)], ids=["whole", "stream"])
async def test_an_answered_request_leaves_no_circle(
    reply: Reply, stream: bool, tmp_path: Path, circles: list[object]
) -> None:
    told = Telemetry(log="off", traces="otlp", sampled=0.0, otlp_endpoint="http://127.0.0.1:9")
    async with (
        fake_upstream(reply) as upstream,
        running_gateway(one_model(upstream.base), tmp_path, telemetry=told) as gateway,
        connected(gateway.port) as client,
    ):
        gc.freeze()

        for _ in range(3):
            await client.ask(chat_body(stream=stream))
            await client.until(b"[DONE]" if stream else b'"content":"hi"')
        await gateway.until_empty()

        gc.collect()

        assert [type(one) for one in circles if isinstance(one, OF_A_REQUEST)] == []

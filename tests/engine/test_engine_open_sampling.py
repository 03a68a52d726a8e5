"""A run's own sampling reaches the engine that is opened from it, for requests that leave it open."""

import asyncio

from generating import until
from saved_models import make, save

from backends.engine.open import open_engine
from backends.messages import ChatRequest, Delta, Message, Sampling
from backends.upstream import UpstreamCall
from policies.catalogue import Run


def asked(**fields):
    return ChatRequest(
        raw=b"",
        model="m",
        messages=(Message(role="user", text="Who are you?"),),
        max_tokens=24,
        **fields,
    )


async def said(upstream, request):
    answer = await upstream.start(UpstreamCall(request=request, prepared=upstream.prepare(request, b"")))
    return "".join([event.text async for event in answer if isinstance(event, Delta)])


async def test_a_greedy_run_is_greedy_until_a_request_says_otherwise(tmp_path):
    run = Run(weights="m", precision="float32", kv_tokens=512, temperature=0.0)
    upstream = open_engine(run, save(make("llama"), tmp_path / "m"))
    await asyncio.to_thread(until, lambda: upstream.load().ready, 60)

    greedy = await said(upstream, asked(sampling=Sampling(temperature=0.0)))
    open_ = await said(upstream, asked(sampling=Sampling(seed=7), left_open=frozenset({"temperature", "top_p"})))
    stated = await said(upstream, asked(sampling=Sampling(temperature=1.0, seed=7)))
    await upstream.aclose()

    assert open_ == greedy != stated

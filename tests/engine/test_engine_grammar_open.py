"""An engine as a policy's `run:` opens it, on tiny random weights from a directory: noise, but JSON."""

import asyncio
import json

import jsonschema
import pytest
from generating import until
from json_vocabulary import SCHEMAS, asks
from saved_models import make, save

from backends.engine.open import open_engine
from backends.messages import ChatRequest, Delta, Finish, Message, Sampling
from backends.upstream import UpstreamCall
from policies.catalogue import Run


@pytest.mark.parametrize("speculate", ["off", "ngram"])
async def test_an_opened_engine_answers_in_the_schema_that_was_asked_for(tmp_path, speculate):
    weights = save(make("llama"), tmp_path / "m")
    upstream = open_engine(Run(weights="m", precision="float32", speculate=speculate, kv_tokens=1024), weights)
    await asyncio.to_thread(until, lambda: upstream.load().ready, 60)
    asked = ChatRequest(
        raw=b"",
        model="m",
        messages=(Message(role="user", text="Who are you?"),),
        sampling=Sampling(temperature=1.0, seed=3),
        max_tokens=300,
        response_format=asks(SCHEMAS["flat"]),
    )

    answer = await upstream.start(UpstreamCall(request=asked, prepared=upstream.prepare(asked, b"")))
    events = [event async for event in answer]
    await upstream.aclose()

    assert Finish("stop") in events
    jsonschema.validate(json.loads("".join(each.text for each in events if isinstance(each, Delta))), SCHEMAS["flat"])

"""The cascade over two engines in this process: judged by exact probabilities that nobody asked for and nobody sees."""

import asyncio
from collections.abc import Iterator

import msgspec
import pytest
from engine.stub_models import PrefixModel, StubVocabulary
from servers.cascade_world import PLAN, Came, Stage
from servers.in_process import engine_of

from backends.dialects.openai_chat.heard import asking_logprobs
from backends.dialects.openai_chat.request import read_chat
from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.upstream.local import LocalUpstream
from backends.messages import Delta
from backends.upstream import UpstreamCall

HESITANT, SURE = 0.02, 400.0
"""Sharpness of a stub model's distribution: nearly flat over 64 tokens, and nearly certain."""

MARKED = {"small": "s", "large": "L"}
PLAN_HERE = msgspec.structs.replace(PLAN, logprobs_of=frozenset({"small", "large"}), hold_s=5.0)


@pytest.fixture
def engines() -> Iterator[list[LocalUpstream]]:
    opened: list[LocalUpstream] = []
    yield opened
    for engine in opened:
        asyncio.run(engine.aclose())


def engine(name: str, sharpness: float) -> LocalUpstream:
    words = StubVocabulary({token: f"{MARKED[name]}{token} " for token in range(64)}, eos=None)
    model = PrefixModel(blocks=256, vocab_size=64, sharpness=sharpness)
    return engine_of(lambda: Batch(model, words, revision="r", budget=Budget(), clock=lambda: 0.0), words)


async def until_ready(*engines: LocalUpstream) -> None:
    async with asyncio.timeout(20):
        while not all(engine.load().ready for engine in engines):  # noqa: ASYNC110  only asking tells
            await asyncio.sleep(0.005)


async def ask(small: LocalUpstream, large: LocalUpstream, **fields: object) -> Came:
    await until_ready(small, large)
    return await Stage(PLAN_HERE).play(small, large, local=True, temperature=0, max_tokens=24, **fields)


@pytest.mark.parametrize("stream", [True, False])
async def test_an_engine_that_hesitates_is_not_heard(engines: list[LocalUpstream], stream: bool) -> None:
    engines += [engine("small", HESITANT), engine("large", SURE)]

    came = await ask(*engines, stream=stream)

    assert "s" not in came.client.text
    assert came.client.text.count("L") == 24
    assert came.books.judgement == "escalated"
    assert came.books.abandoned is not None
    assert came.books.abandoned.completion_tokens >= PLAN_HERE.tokens
    async with asyncio.timeout(0.1):
        while engines[0].load().running:  # noqa: ASYNC110  only asking tells
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("stream", [True, False])
async def test_an_engine_that_is_sure_says_what_it_says_alone_and_shows_no_probabilities(
    engines: list[LocalUpstream], stream: bool
) -> None:
    engines += [engine("small", SURE), engine("large", SURE)]

    came = await ask(*engines, stream=stream)
    alone = await ask(*engines, stream=stream, model="small")

    assert came.client.text == alone.client.text
    assert came.client.text.count("s") == 24
    assert came.books.judgement == "kept"
    assert alone.books.judgement == ""
    assert b'"logprob"' not in came.client.body


async def test_an_engine_tells_no_more_probabilities_than_it_is_asked_for(engines: list[LocalUpstream]) -> None:
    engines.append(engine("small", SURE))
    raw = b'{"model": "m", "messages": [{"role": "user", "content": "q"}], "stream": true, "temperature": 0, "max_tokens": 24}'
    request = asking_logprobs(read_chat(raw), 5)
    await until_ready(*engines)

    answer = await engines[0].start(UpstreamCall(request=request, prepared=engines[0].prepare(request, b"")))
    deltas = [event async for event in answer if isinstance(event, Delta)]

    assert sum(len(delta.logprobs) for delta in deltas) == 5
    assert "".join(delta.text for delta in deltas).count("s") == 24


async def test_probabilities_that_were_asked_for_are_shown(engines: list[LocalUpstream]) -> None:
    engines += [engine("small", SURE), engine("large", SURE)]

    came = await ask(*engines, logprobs=True)

    assert came.client.body.count(b'"logprob"') == 24

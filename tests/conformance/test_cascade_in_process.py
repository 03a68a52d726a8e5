"""The cascade over two engines in this process: judged by exact probabilities that nobody asked for and nobody sees."""

import asyncio
from collections.abc import Iterator

import msgspec
import pytest
from engine.stub_models import PrefixModel, StubVocabulary
from servers.cascade_world import PLAN, Came, Stage
from servers.in_process import engine_of

from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.local import LocalUpstream

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


async def ask(small: LocalUpstream, large: LocalUpstream, **fields: object) -> Came:
    async with asyncio.timeout(20):
        while not (small.load().ready and large.load().ready):  # noqa: ASYNC110  only asking tells
            await asyncio.sleep(0.005)
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


async def test_probabilities_that_were_asked_for_are_shown(engines: list[LocalUpstream]) -> None:
    engines += [engine("small", SURE), engine("large", SURE)]

    came = await ask(*engines, logprobs=True)

    assert came.client.body.count(b'"logprob"') == 24

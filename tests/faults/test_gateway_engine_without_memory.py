"""An engine short of memory: smaller steps and the same answers; without any, 503 with `Retry-After`, never 500 or a hang."""

import asyncio
from pathlib import Path

import httpx
from engine.stub_models import Logits, PrefixModel, StubVocabulary
from servers.in_process import engine_of, gateway_around, in_process_gateway

from backends.engine.api import Step
from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.thread.restart import Restart

WORDS = StubVocabulary(eos=None)
LONG = "x" * 400


class Small(PrefixModel):
    """Has memory for steps of so many rows."""

    def __init__(self, rows: int) -> None:
        super().__init__(blocks=64, vocab_size=64)
        self.most_rows = 10_000
        self._rows = rows

    def shrink(self) -> None:
        self.most_rows = self._rows

    def forward(self, step: Step) -> Logits:
        if len(step.tokens) > self.most_rows:
            raise MemoryError
        return super().forward(step)


async def answer(client: httpx.AsyncClient, base: str, text: str) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": 8, "temperature": 0}
    return await client.post(f"{base}/v1/chat/completions", json=body)


async def test_a_want_of_memory_changes_no_answer(tmp_path: Path) -> None:
    model = Small(rows=100)
    async with in_process_gateway(model, WORDS, tmp_path) as (gateway, _), httpx.AsyncClient() as client:
        expected = await answer(client, gateway.base, LONG)
        model.shrink()
        squeezed = await answer(client, gateway.base, "y" + LONG[1:])
        again = await answer(client, gateway.base, LONG)
        steps = model.rows[-12:]

    assert expected.status_code == squeezed.status_code == 200
    assert again.json()["choices"] == expected.json()["choices"]
    assert max(steps) <= 100


async def test_without_any_memory_the_client_is_told_to_come_again_and_then_is_served(tmp_path: Path) -> None:
    model = Small(rows=0)

    def build() -> Batch:
        model.most_rows = 10_000
        return Batch(model, WORDS, revision="r", budget=Budget(), clock=lambda: 0.0)

    upstream = engine_of(build, WORDS, restart=Restart(first_s=0.0, most_s=0.0))
    async with gateway_around(upstream, tmp_path) as gateway, httpx.AsyncClient() as client:
        await gateway.until(lambda _: upstream.load().ready)
        model.shrink()
        refused = await answer(client, gateway.base, LONG)
        await gateway.until(lambda _: upstream.load().ready)
        served = await answer(client, gateway.base, LONG)

    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["error"]["code"] == "overloaded"
    assert served.status_code == 200


async def test_a_full_waiting_line_is_503_with_retry_after_at_once(tmp_path: Path) -> None:
    def build() -> Batch:
        return Batch(PrefixModel(blocks=64), WORDS, revision="r", budget=Budget(), clock=lambda: 0.0)

    upstream = engine_of(build, WORDS, max_jobs=1)
    async with gateway_around(upstream, tmp_path) as gateway, httpx.AsyncClient() as client:
        await gateway.until(lambda _: upstream.load().ready)
        refused = await client.post(
            f"{gateway.base}/v1/chat/completions",
            json={"model": "m", "messages": [{"role": "user", "content": "hi"}], "n": 2, "max_tokens": 400},
        )
        async with asyncio.timeout(5):
            while (await answer(client, gateway.base, "hi")).status_code != 200:
                pass

    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["error"]["code"] == "overloaded"

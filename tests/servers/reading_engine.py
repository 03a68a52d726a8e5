"""An engine in this process, with a real tokenizer and template, that remembers every token that it was given to read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from engine.saved_models import CHATML, make, save
from engine.stub_models import Logits, PrefixModel
from servers.in_process import engine_of, gateway_around

from backends.engine.api import Step
from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.weights.opening import open_weights


class Reading(PrefixModel):
    """Keeps every token that it is given once it is warm, in order."""

    def __init__(self) -> None:
        super().__init__(vocab_size=320)
        self.read: list[int] = []

    def forward(self, step: Step) -> Logits:
        self.read += step.tokens.tolist()
        return super().forward(step)


class Asking:
    def __init__(self, client: httpx.AsyncClient, base: str, model: Reading) -> None:
        self._client, self._base, self.model = client, base, model

    async def post(self, path: str, **body: Any) -> httpx.Response:
        return await self._client.post(f"{self._base}{path}", json={"model": "m", **body})


@asynccontextmanager
async def asking(folder: Path, window: int = 512) -> AsyncIterator[tuple[Asking, Any]]:
    saved = save(make("llama"), folder / "m")
    (saved / "chat_template.jinja").write_text("{% if tools %}{{ tools | tojson }}{% endif %}" + CHATML)
    tokenizer = open_weights(saved).tokenizer
    model = Reading()
    batch = lambda: Batch(model, tokenizer, revision="r", budget=Budget(), clock=lambda: 0.0)  # noqa: E731
    upstream = engine_of(batch, tokenizer, window=window, calls="hermes")  # type: ignore[arg-type]
    async with (
        gateway_around(upstream, folder, can=frozenset({"tools", "logprobs"}), window=window) as gateway,
        httpx.AsyncClient(timeout=20) as client,
    ):
        await gateway.until(lambda _: upstream.load().ready)
        model.read.clear()
        yield Asking(client, gateway.base, model), tokenizer

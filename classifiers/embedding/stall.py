"""How long an event loop waits while texts are embedded: idle, beside a thread, beside the child process.

python -m classifiers.embedding.stall
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from classifiers.embedding.embedder import ChildEmbedder
from classifiers.embedding.encoder import find_encoder, open_encoder
from classifiers.measuring.report import Report

_TICK_S = 0.001
_TEXT = "Explain why the sum of two odd numbers is even, then state the converse and say whether it holds. "
Embed = Callable[[str], Awaitable[object]]


def measure(texts: int = 200) -> Report:
    """Delay of a 1 ms timer while `texts` sentences of about 20 tokens are embedded one after the other."""
    source = find_encoder(None)
    encode = open_encoder(source, threads=1)
    child = ChildEmbedder(source)
    child.submit(_TEXT).result()
    with ThreadPoolExecutor(1) as thread:
        ways: dict[str, Embed] = {
            "nothing": lambda _: asyncio.sleep(0.02),
            "a thread": lambda text: asyncio.wrap_future(thread.submit(encode, [text])),
            "the child process": lambda text: asyncio.wrap_future(child.submit(text)),
        }
        rows = tuple((name, *asyncio.run(_delays(embed, texts))) for name, embed in ways.items())
    child.close()
    return Report(title="event-loop delay", columns=("beside", "p50 ms", "p99 ms", "max ms", "ms per text"), rows=rows)


async def _delays(embed: Embed, texts: int) -> tuple[str, ...]:
    delays: list[float] = []
    ticking = asyncio.create_task(_tick(delays), name="tick")
    started = time.perf_counter()
    for at in range(texts):
        await embed(f"{at} {_TEXT}")
    each = (time.perf_counter() - started) / texts
    ticking.cancel()
    seen = [*(np.percentile(delays, [50, 99, 100]) * 1000), each * 1000]
    return tuple(f"{value:.2f}" for value in seen)


async def _tick(delays: list[float]) -> None:
    while True:
        due = time.perf_counter() + _TICK_S
        await asyncio.sleep(_TICK_S)
        delays.append(time.perf_counter() - due)


if __name__ == "__main__":
    print(measure().markdown())

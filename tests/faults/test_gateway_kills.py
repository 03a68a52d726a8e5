"""Clients that are killed at any moment, in every dialect: nothing stays counted, held or open, and the work behind ends."""

import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from engine.stub_models import Logits, PrefixModel, StubVocabulary
from faults.ways_to_ask import EVERY_WAY, WAYS, first_piece, good, named, policy_at
from servers.in_process import in_process_gateway
from servers.plain_client import connected
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import Pause, Received, Reply, Until, fake_upstream, sse_reply

from backends.engine.api import Step

KILLS = 500
AT_ONCE = 25
CHATS = [way for way in WAYS if way.streams]


def lingers(got: Received) -> Reply:
    """Begins after a moment, and goes on for ever; to who wants one piece it never comes."""
    begun = first_piece(got) if got.json.get("stream") else b'{"id":'
    return sse_reply(Pause(0.01), begun, Until(asyncio.Event()))


async def killed(gateway: RunningGateway, wire: bytes, rng: random.Random) -> None:
    """Somewhere between the first byte of the request and some time after the first of the answer."""
    sent = wire[: rng.randrange(1, len(wire))] if rng.random() < 0.2 else wire
    async with connected(gateway.port) as client:
        await client.send(sent)
        await asyncio.sleep(rng.choice((0.0, rng.uniform(0, 0.04))))
        client.kill()


async def storm(kills: int, kill: Callable[[], Awaitable[None]]) -> None:
    for _ in range(kills // AT_ONCE):
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(as_task(kill))


async def as_task(kill: Callable[[], Awaitable[None]]) -> None:
    await kill()


async def test_five_hundred_kills_leave_no_load_no_connection_and_no_doubt(tmp_path: Path) -> None:
    rng = random.Random(11)
    async with fake_upstream(lingers) as upstream, running_gateway(policy_at(upstream.base), tmp_path) as gateway:

        def kill() -> Awaitable[None]:
            way, stream = rng.choice(EVERY_WAY)
            return killed(gateway, way.request(stream), rng)

        await storm(KILLS, kill)
        await gateway.until_empty(5.0)
        await upstream.until(lambda seen: seen.open_connections == 0)
        reached = len(upstream.received)

        upstream.scripts[:] = [good]
        for way, stream in EVERY_WAY:
            async with connected(gateway.port) as client:
                await client.send(way.request(stream))
                assert await asyncio.wait_for(client.status(), 5.0) == 200, named(way)

    assert reached > KILLS // 4, "the storm hardly reached the upstream: it proves nothing"


class SlowModel(PrefixModel):
    """So slow that clients are killed while it works."""

    def forward(self, step: Step) -> Logits:
        time.sleep(0.001)
        return super().forward(step)


async def test_kills_before_an_engine_leave_no_block_and_no_sequence(tmp_path: Path) -> None:
    rng, model = random.Random(12), SlowModel(blocks=256, vocab_size=64)
    vocabulary = StubVocabulary({token: f"{token} " for token in range(64)}, eos=None)
    async with in_process_gateway(model, vocabulary, tmp_path) as (gateway, upstream):
        await storm(200, lambda: killed(gateway, rng.choice(CHATS).request(rng.random() < 0.5), rng))
        await gateway.until_empty(5.0)
        await gateway.until(lambda _: upstream.engine.load().running == 0)
        load = upstream.engine.load()

    assert (load.waiting, load.free_blocks) == (0, load.total_blocks)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "stream"), EVERY_WAY, ids=named)
async def test_a_kill_reaches_the_upstream_within_a_tenth_of_a_second(
    way: object, stream: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The median of many: one of them may meet a busy machine."""
    assert isinstance(way, type(WAYS[0]))
    took: list[float] = []
    async with fake_upstream(lingers) as upstream, running_gateway(policy_at(upstream.base), tmp_path) as gateway:
        for number in range(40):
            async with connected(gateway.port) as client:
                await client.send(way.request(stream))
                await upstream.until(lambda seen, number=number: len(seen.received) > number)
                began = time.perf_counter()
                client.kill()
                await asyncio.wait_for(upstream.last.closed.wait(), 5.0)
                took.append(time.perf_counter() - began)

    with capsys.disabled():
        print(
            f" {named(way)} {named(stream)}: median {statistics.median(took) * 1e3:.1f} ms, most {max(took) * 1e3:.1f} ms"
        )
    assert statistics.median(took) < 0.1

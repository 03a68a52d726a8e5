"""What a worker tells: blocks and load, as events and as a page, to gateways and to nobody else."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import httpx
import msgspec
import pytest
from engine.stub_models import PrefixModel, StubVocabulary
from servers.in_process import engine_of, in_process_gateway
from servers.plain_client import chat_body, connected
from servers.running_gateway import RunningGateway, one_model, running_gateway

from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.upstream.local import LocalUpstream
from backends.sse import Decoder
from backends.worker.messages import Blocks, WorkerIs, WorkerLoad
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.identity import Identity, KeyEntry
from gateway.worker.publish import MOST_READERS

PROMPT = "a prompt of more than two blocks of sixteen tokens"
TYPES = {b"worker": WorkerIs, b"blocks": Blocks, b"load": WorkerLoad}
KEYS = [
    KeyEntry(hash=sha256(b"front").hexdigest(), tenant="front", gateway=True),
    KeyEntry(hash=sha256(b"acme").hexdigest(), tenant="acme"),
]


@asynccontextmanager
async def worker(folder: Path, **options: object) -> AsyncIterator[tuple[RunningGateway, LocalUpstream]]:
    model = PrefixModel(blocks=64, vocab_size=64)
    async with in_process_gateway(model, StubVocabulary(eos=None), folder, **options) as made:  # type: ignore[arg-type]
        yield made


class Reader:
    """Reads the events of a worker until they say what a test waits for."""

    def __init__(self, response: httpx.Response) -> None:
        self._pieces = response.aiter_bytes()
        self._decoder = Decoder()
        self.resident: set[bytes] = set()
        self.generations: list[str] = []
        self.load: WorkerLoad | None = None

    async def until(self, condition: Callable[["Reader"], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition(self):
                for event in self._decoder.feed(await anext(self._pieces)):
                    self._hear(msgspec.json.decode(event.data, type=TYPES[event.name]))

    def _hear(self, told: WorkerIs | Blocks | WorkerLoad) -> None:
        match told:
            case WorkerIs():
                self.generations.append(told.generation)
            case Blocks():
                self.resident = (set() if told.cleared else self.resident) | set(told.stored)
                self.resident -= set(told.removed)
            case WorkerLoad():
                self.load = told


@asynccontextmanager
async def reading(client: httpx.AsyncClient, base: str, key: str = "") -> AsyncIterator[Reader]:
    async with client.stream("GET", f"{base}/v1/worker/events", headers={"x-api-key": key}) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream"
        yield Reader(response)


async def ask(client: httpx.AsyncClient, base: str, text: str) -> None:
    assert (await client.post(f"{base}/v1/chat/completions", content=chat_body(text=text))).status_code == 200


async def test_every_reader_knows_the_blocks_of_the_engine_whenever_it_came(tmp_path: Path) -> None:
    async with worker(tmp_path) as (gateway, upstream), httpx.AsyncClient(timeout=10) as client:
        async with reading(client, gateway.base) as early:
            await ask(client, gateway.base, PROMPT)
            held = set(upstream.engine.feed.after(None).stored)  # type: ignore[union-attr]
            await early.until(lambda reader: reader.resident == held)
            async with reading(client, gateway.base) as late:
                await late.until(lambda reader: reader.resident == held)
        generation = upstream.generation

    assert len(held) >= 3
    assert early.generations == late.generations == [generation]


async def test_the_load_is_a_page_and_an_event(tmp_path: Path) -> None:
    async with worker(tmp_path) as (gateway, upstream), httpx.AsyncClient(timeout=10) as client:
        page = (await client.get(f"{gateway.base}/v1/worker/load")).json()
        async with reading(client, gateway.base) as reader:
            await reader.until(lambda reader: reader.load is not None)
        generation = upstream.generation

    assert reader.load is not None
    assert page == msgspec.to_builtins(reader.load)
    assert page == {
        "generation": generation,
        "ready": True,
        "why_not": "",
        "waiting": 0,
        "running": 0,
        "queued_tokens": 0,
        "active_tokens": 0,
        "free_blocks": 64,
        "total_blocks": 64,
    }


@pytest.mark.parametrize("page", ["events", "load"])
async def test_a_tenants_key_does_not_learn_what_the_worker_holds_for_others(page: str, tmp_path: Path) -> None:
    async with worker(tmp_path, keys=KEYS) as (gateway, _), httpx.AsyncClient(timeout=10) as client:
        url = f"{gateway.base}/v1/worker/{page}"
        answers = [await client.get(url, headers={"x-api-key": key}) for key in ("acme", "nobody", "")]
        async with client.stream("GET", url, headers={"x-api-key": "front"}) as allowed:
            status = allowed.status_code

    assert [answer.status_code for answer in answers] == [403, 401, 401]
    assert answers[0].json()["error"]["code"] == "gateways_only"
    assert "gateway: true" in answers[0].json()["error"]["message"]
    assert status == 200


async def test_a_gateway_that_is_no_worker_says_so(tmp_path: Path) -> None:
    async with running_gateway(one_model("http://127.0.0.1:1"), tmp_path) as gateway, httpx.AsyncClient() as client:
        answers = [await client.get(f"{gateway.base}/v1/worker/{page}") for page in ("events", "load")]

    assert [answer.status_code for answer in answers] == [404, 404]


async def test_readers_beyond_the_bound_are_refused_and_a_place_that_is_left_can_be_had(tmp_path: Path) -> None:
    limits = httpx.Limits(max_connections=MOST_READERS + 1)
    async with worker(tmp_path) as (gateway, _), httpx.AsyncClient(timeout=10, limits=limits) as client:
        url = f"{gateway.base}/v1/worker/events"
        async with contextlib.AsyncExitStack() as readers:
            for _ in range(MOST_READERS):
                await readers.enter_async_context(reading(client, gateway.base))
            assert (await client.get(url)).status_code == 429
        async with asyncio.timeout(5):
            while (await client.head(url)).status_code != 200 or not await has_place(client, url):
                pass


async def has_place(client: httpx.AsyncClient, url: str) -> bool:
    async with client.stream("GET", url) as response:
        return response.status_code == 200


async def test_readers_hear_that_the_process_stops_and_then_the_stream_ends_well(tmp_path: Path) -> None:
    async with (
        worker(tmp_path) as (gateway, _),
        httpx.AsyncClient(timeout=10) as client,
        connected(gateway.port) as slow,
        reading(client, gateway.base) as reader,
    ):
        await slow.ask(chat_body(stream=True, text=PROMPT))
        await slow.until(b'"content"')
        gateway.gateway.door.drain()
        await reader.until(lambda reader: reader.load is not None and reader.load.why_not == "stopping")
        assert b"[DONE]" in await slow.rest()
        with pytest.raises(StopAsyncIteration):
            await reader.until(lambda _: False)


async def test_a_key_that_is_taken_back_hears_nothing_more(tmp_path: Path) -> None:
    async with (
        worker(tmp_path, keys=KEYS) as (gateway, _),
        httpx.AsyncClient(timeout=10) as client,
        reading(client, gateway.base, "front") as reader,
    ):
        await reader.until(lambda reader: reader.load is not None)
        gateway.gateway.identity = Identity(KEYS[1:])
        with pytest.raises(StopAsyncIteration):
            await reader.until(lambda _: False)


async def test_readers_are_sent_to_the_engine_that_took_the_place_of_theirs(tmp_path: Path) -> None:
    async with (
        worker(tmp_path) as (gateway, _),
        httpx.AsyncClient(timeout=10) as client,
        reading(client, gateway.base) as before,
    ):
        await before.until(lambda reader: reader.load is not None)
        old, fresh = gateway.gateway.live, another_engine()
        gateway.gateway.live = Live(old.policy, {"m": (Replica("m", "m", "other", lambda: fresh, True),)})
        await gateway.gateway.live.open(10)
        await old.retire()
        with pytest.raises(StopAsyncIteration):
            await before.until(lambda _: False)
        async with reading(client, gateway.base) as after:
            await after.until(lambda reader: reader.load is not None and reader.load.ready)
        generation = fresh.generation

    assert after.generations == [generation]


def another_engine() -> LocalUpstream:
    model, words = PrefixModel(blocks=64, vocab_size=64), StubVocabulary(eos=None)
    return engine_of(lambda: Batch(model, words, revision="r", budget=Budget(), clock=time.perf_counter), words)

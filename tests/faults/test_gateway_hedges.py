"""Races of two replicas over real sockets: who speaks first answers, the other one is closed, and nothing of it is left."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from faults.ways_to_ask import WAYS, Way
from servers.plain_client import connected, head
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import (
    DONE,
    Cut,
    FakeUpstream,
    Received,
    Reply,
    Until,
    chunk,
    fake_upstream,
    finish_chunk,
    json_reply,
    sse_reply,
    text_chunk,
    usage,
)

POLICY = """
policy: 1
models: {{m: {{at: ['{a}/v1', '{b}/v1'], price: {{input: $1/M, output: $4/M}}}}}}
routes: [{{name: r, use: m}}]
resilience: {{attempts: {attempts}, hedge: {{after: {after}, budget: {budget}{more}}}}}
budgets: [{{per: all, limit: $1/day}}]
"""
BODY: dict[str, Any] = {"model": "auto", "messages": [{"role": "user", "content": "hi"}], "stream": True}
BROKEN = json_reply({"error": {"message": "broken"}}, 500)
NO = json_reply({"error": {"message": "temperature is too hot", "type": "invalid_request_error"}}, 400)
PROMPT = 17
"""Tokens of BODY as they are reckoned here: what is charged of an answer that was closed unheard."""
ANSWER = 7 + 4
"""Micro-dollars of an answer of one token."""


@dataclass
class Words:
    """What the n-th request to the pair gets: each waits for its turn to speak."""

    replies: Sequence[Reply] = ()
    turns: list[asyncio.Event] = field(default_factory=list)
    came: list[Received] = field(default_factory=list)

    def __call__(self, got: Received) -> Reply:
        place = len(self.came)
        self.came.append(got)
        self.turns.append(asyncio.Event())
        if place < len(self.replies):
            return self.replies[place]
        steps = (text_chunk(str(place)), finish_chunk(), chunk(choices=[], usage=usage(7, 1)), DONE)
        return sse_reply(Until(self.turns[place]), *steps)

    async def until(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.came) < count:  # noqa: ASYNC110  the fake upstream does not announce it
                await asyncio.sleep(0.002)


@dataclass
class Pair:
    gateway: RunningGateway
    words: Words
    upstreams: Sequence[FakeUpstream]

    def save_up(self, hedges: int = 1) -> None:
        """So many may begin now."""
        for _ in range(hedges):
            self.gateway.gateway.world.hedges.allowance.came(1.0)

    def asks(self, **body: Any) -> "asyncio.Task[httpx.Response]":
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(timeout=20) as client:
                return await client.post(f"{self.gateway.base}/v1/chat/completions", json={**BODY, **body})

        return asyncio.create_task(ask())

    async def until_closed(self, place: int) -> None:
        """The gateway hung up on the n-th request."""
        async with asyncio.timeout(5):
            await self.words.came[place].closed.wait()

    def failures(self) -> Sequence[str]:
        """Kinds of failures that were seen."""
        lines = self.gateway.gateway.observer.metrics_page().decode().splitlines()
        kinds = [
            line for line in lines if line.startswith("router_upstream_errors_total") and not line.endswith(" 0.0")
        ]
        return [line.partition('error_type="')[2].partition('"')[0] for line in kinds]

    def metric(self, name: str) -> float:
        page = self.gateway.gateway.observer.metrics_page().decode()
        return float(next(line for line in page.splitlines() if line.startswith(name)).rpartition(" ")[2])


@asynccontextmanager
async def pair(
    folder: Path, *replies: Reply, after: str = "20ms", budget: str = "1%", attempts: int = 1, more: str = ""
) -> AsyncIterator[Pair]:
    words = Words(replies)
    async with fake_upstream(words) as a, fake_upstream(words) as b:
        policy = POLICY.format(a=a.base, b=b.base, after=after, budget=budget, attempts=attempts, more=more)
        async with running_gateway(policy, folder) as gateway:
            yield Pair(gateway, words, (a, b))
            await gateway.until_empty()
            assert gateway.holds_nothing()


def said(answer: httpx.Response) -> str:
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    return "".join(event["choices"][0]["delta"].get("content") or "" for event in events if event.get("choices"))


async def test_a_hedge_is_cancelled_when_the_first_attempt_speaks(tmp_path: Path) -> None:
    async with pair(tmp_path) as world:
        world.save_up()
        answering = world.asks()
        await world.words.until(2)

        world.words.turns[0].set()
        answer = await answering

        await world.until_closed(1)
        assert said(answer) == "0"
        assert answer.text.count("data: [DONE]") == 1
        assert "another replica" not in answer.headers["x-turnout-reason"]
        assert world.metric('router_hedges_total{gen_ai_request_model="m",router_hedge_result="cancelled"}') == 1
        assert world.metric('router_hedge_spend_microusd_total{gen_ai_request_model="m"}') == PROMPT
        assert (
            world.metric('router_spend_microusd_total{gen_ai_response_model="m",router_route="r"}') == ANSWER + PROMPT
        )


async def test_the_second_replica_answers_where_it_speaks_first(tmp_path: Path) -> None:
    async with pair(tmp_path) as world:
        world.save_up()
        answering = world.asks()
        await world.words.until(2)

        world.words.turns[1].set()
        answer = await answering

        await world.until_closed(0)
        assert said(answer) == "1"
        assert answer.headers["x-turnout-reason"] == "m: another replica, the first said nothing for 0.02 s"
        assert {len(upstream.received) for upstream in world.upstreams} == {1}, "two replicas, each asked once"
        assert world.metric('router_hedges_total{gen_ai_request_model="m",router_hedge_result="won"}') == 1


async def test_nobody_is_asked_beside_one_that_speaks_in_time(tmp_path: Path) -> None:
    async with pair(tmp_path, after="10s") as world:
        world.save_up()
        answering = world.asks()
        await world.words.until(1)
        world.words.turns[0].set()
        await answering

    assert len(world.words.came) == 1


async def test_nobody_is_asked_after_the_first_byte(tmp_path: Path) -> None:
    stalls = asyncio.Event()
    slow = sse_reply(text_chunk("a"), Until(stalls), finish_chunk(), DONE)
    async with pair(tmp_path, slow) as world:
        world.save_up()
        answering = world.asks()
        await world.words.until(1)
        await asyncio.wait((answering,), timeout=0.1)
        stalls.set()
        answer = await answering

    assert said(answer) == "a"
    assert len(world.words.came) == 1


async def test_an_answer_in_one_piece_is_not_raced(tmp_path: Path) -> None:
    async with pair(tmp_path) as world:
        world.save_up()
        answering = world.asks(stream=False)
        await world.words.until(1)
        await asyncio.wait((answering,), timeout=0.1)
        assert len(world.words.came) == 1
        answering.cancel()


async def test_hedges_are_a_share_of_the_requests(tmp_path: Path) -> None:
    async with pair(tmp_path, budget="25%") as world:
        for n in range(8):
            answering = world.asks()
            hedged = n % 4 == 3
            await world.words.until(len(world.words.came) + 1 + hedged)
            if not hedged:
                await asyncio.wait((answering,), timeout=0.06)
            world.words.turns[-1 - hedged].set()
            await answering

    assert len(world.words.came) == 10


async def test_where_too_many_are_busy_nobody_is_raced(tmp_path: Path) -> None:
    async with pair(tmp_path, more=", unless: {load: {over: 40%}}") as world:
        world.save_up(2)
        first = world.asks()
        await world.words.until(2)
        second = world.asks()
        await world.words.until(3)
        await asyncio.wait((second,), timeout=0.1)
        assert len(world.words.came) == 3, "prompts wait before both"
        for turn in world.words.turns:
            turn.set()
        await asyncio.gather(first, second)


async def test_a_second_one_that_fails_leaves_the_race_to_the_first(tmp_path: Path) -> None:
    turn = asyncio.Event()
    first = sse_reply(Until(turn), text_chunk("first"), finish_chunk(), DONE)
    async with pair(tmp_path, first, BROKEN) as world:
        world.save_up()
        answering = world.asks()
        await world.words.until(2)
        turn.set()
        answer = await answering
        assert said(answer) == "first"
        assert world.metric('router_hedges_total{gen_ai_request_model="m",router_hedge_result="failed"}') == 1
        assert world.metric('router_hedge_spend_microusd_total{gen_ai_request_model="m"}') == 0


async def test_a_first_one_that_fails_leaves_the_race_to_the_second(tmp_path: Path) -> None:
    turn = asyncio.Event()
    first = sse_reply(Until(turn), Cut.RESET)
    async with pair(tmp_path, first) as world:
        world.save_up()
        answering = world.asks()
        await world.words.until(2)
        turn.set()
        await world.gateway.until(lambda _: "stream_cut" in world.failures())
        world.words.turns[1].set()
        answer = await answering

    assert said(answer) == "1"
    assert len(world.words.came) == 2, "no retry: the second one was under way"


async def test_when_both_fail_the_client_hears_of_it(tmp_path: Path) -> None:
    turn = asyncio.Event()
    async with pair(tmp_path, sse_reply(Until(turn), Cut.RESET), BROKEN, BROKEN) as world:
        world.save_up()
        answering = world.asks()
        await world.words.until(2)
        turn.set()
        answer = await answering

    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "upstream_disconnected"


async def test_a_request_that_is_at_fault_is_told_so_at_once(tmp_path: Path) -> None:
    turn = asyncio.Event()

    async with pair(tmp_path) as world:
        world.words.replies = (Reply((Until(turn), NO.steps[0]), NO.status, NO.headers),)
        world.save_up()
        answering = world.asks()
        await world.words.until(2)
        turn.set()
        answer = await answering
        await world.until_closed(1)

    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "temperature is too hot"


async def test_a_client_that_leaves_closes_both(tmp_path: Path) -> None:
    async with pair(tmp_path) as world:
        world.save_up()
        asked = json.dumps(BODY).encode()
        async with connected(world.gateway.port) as client:
            await client.send(head(len(asked)) + asked)
            await world.words.until(2)
            client.kill()
            await world.until_closed(0)
            await world.until_closed(1)
        await world.gateway.until_empty()


async def test_late_is_learnt_from_what_prompts_of_that_length_wait(tmp_path: Path) -> None:
    async with pair(tmp_path, after="p95 of ttft") as world:
        world.save_up()
        ttfts = world.gateway.gateway.world.hedges.ttfts
        asked = world.asks()
        await world.words.until(1)
        await asyncio.wait((asked,), timeout=0.05)
        assert len(world.words.came) == 1, "nothing is known yet"
        world.words.turns[0].set()
        await asked
        assert ttfts.percentile("m", PROMPT, 95) == 0.0

        for _ in range(60):
            ttfts.saw("m", PROMPT, 0.02)
        asked = world.asks()
        await world.words.until(3)
        world.words.turns[2].set()
        await asked


async def test_what_would_be_raced_is_told_beforehand(tmp_path: Path) -> None:
    async with pair(tmp_path) as world, httpx.AsyncClient() as client:
        url, text = f"{world.gateway.base}/v1/route", {"accept": "text/plain"}
        streamed = (await client.post(url, json=BODY, headers=text)).text
        whole = (await client.post(url, json={**BODY, "stream": False}, headers=text)).text

    assert "hedge     after 0.02 s of silence http://127.0.0.1:" in streamed
    assert "hedge     nobody is asked as well: an answer that leaves in one piece is not raced" in whole


@pytest.mark.parametrize("way", WAYS[:3], ids=lambda way: way.name)
async def test_the_client_of_any_dialect_hears_one_voice_and_one_end(way: Way, tmp_path: Path) -> None:
    async with pair(tmp_path) as world, httpx.AsyncClient(timeout=20) as client:
        world.save_up()
        asked = {**way.body, "model": "auto", "stream": True}
        answering = asyncio.create_task(client.post(f"{world.gateway.base}{way.path}", json=asked))
        await world.words.until(2)
        world.words.turns[1].set()
        answer = await answering
        await world.until_closed(0)

    assert answer.status_code == 200
    assert sum(answer.content.count(end) for end in way.ends) == 1
    assert answer.content.count(way.well) == 1
    assert b'"1"' in answer.content
    assert b'"0"' not in answer.content

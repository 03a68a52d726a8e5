"""Shadows: whatever becomes of them, the request that they were drawn from is as without, and so is all that is kept of it."""

import asyncio
import json
import re
from pathlib import Path

import msgspec
import pytest
from servers.plain_client import connected
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_messages import messages_either
from upstreams.fake_upstream import (
    DONE,
    Cut,
    Reply,
    Until,
    chat_either,
    chat_stream,
    event,
    fake_upstream,
    json_reply,
    sse_reply,
    text_chunk,
)

from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord, ShadowRecord
from gateway.settings import Decisions
from gateway.settings import Shadows as ShadowSettings
from gateway.shadows.shelf import Shelf
from gateway.shadows.told import told_of

from ways_to_ask import WAYS  # isort: skip

CHATS = [way for way in WAYS if way.name in ("chat", "messages", "responses")]
NOT_TOLD = re.compile(rb'req_\w+|(?:msg|resp|chatcmpl|rs|fc)[_-][\w-]+|"(?:created|created_at|completed_at)":\d+')
HEADERS_NOT_TOLD = re.compile(rb"(?mi)^(date|x-turnout-policy|request-id): .*$")


def policy(primary, shadow, *, sample="100%", **more):
    said = {"name": "s", "of": "chat", "to": "b", "sample": sample, **more}
    return json.dumps(
        {
            "policy": 1,
            "models": {
                "m": {"at": f"{primary}/v1", "price": {"input": "$1/M", "output": "$1/M"}, "fits": {"output": 100}},
                "b": {"at": f"{shadow}/v1", "price": {"input": "$10/M", "output": "$10/M"}, "fits": {"output": 100}},
            },
            "routes": [{"name": "chat", "when": {"model.is": "auto"}, "use": "m"}],
            "shadows": [{"limits": {"cost": "$1/day"}, **said}] if sample else [],
        }
    )


async def asked(port: int, way, stream: bool, extra: bytes = b"") -> bytes:
    """The whole answer as it came."""
    body = json.dumps({**way.body, "model": "auto", **({"stream": True} if stream else {})}).encode()
    head = (
        b"POST %b HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer kA-secret\r\ncontent-type: application/json\r\n"
        b"idempotency-key: once\r\nconnection: close\r\ncontent-length: %d\r\n%b\r\n"
    )
    async with connected(port) as client:
        await client.send(head % (way.path.encode(), len(body), extra) + body)
        return await client.rest()


def same(answer: bytes) -> bytes:
    return HEADERS_NOT_TOLD.sub(b"", NOT_TOLD.sub(b"*", answer))


async def until_served(gateway: RunningGateway, results: int) -> dict[str, int]:
    shadows = gateway.gateway.shadows
    assert shadows is not None
    await gateway.until(lambda _: not shadows.busy and sum(shadows.chapters["s"].results.values()) >= results, 10)
    return dict(shadows.chapters["s"].results)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("way", CHATS, ids=lambda way: way.name)
async def test_in_every_dialect_the_shadow_is_asked_the_same_and_changes_no_byte(way, stream, tmp_path: Path):
    async with (
        fake_upstream(chat_either("one ", "two")) as primary,
        fake_upstream(chat_either("one ", "too")) as shadow,
    ):
        async with running_gateway(policy(primary.base, shadow.base, sample=""), tmp_path) as alone:
            without = await asked(alone.port, way, stream)
        async with running_gateway(
            policy(primary.base, shadow.base, compare=["exact", "edit", "structure"]), tmp_path
        ) as beside:
            with_shadow = await asked(beside.port, way, stream)
            results = await until_served(beside, 1)

    assert b" 200 " in with_shadow.split(b"\r\n")[0]
    assert same(with_shadow) == same(without)
    assert results == {"compared": 1}
    (got,) = shadow.received
    assert got.json["messages"] == primary.received[1].json["messages"]
    assert got.header("x-turnout-shadow") == "true"
    assert "kA-secret" not in repr(got.headers)
    assert got.header("idempotency-key") is None


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("way", CHATS, ids=lambda way: way.name)
async def test_in_every_dialect_it_is_told_whether_both_come_to_the_same(way, stream, tmp_path: Path):
    found = []
    for other in ("It comes ", "to 42."), ("41",):
        async with fake_upstream(chat_either("4", "2")) as primary, fake_upstream(chat_either(*other)) as shadow:
            logs, told = tmp_path / other[-1], policy(primary.base, shadow.base, compare=["edit"])
            async with running_gateway(told, tmp_path, decisions=Decisions(dir=logs)) as gateway:
                await asked(gateway.port, way, stream)
                assert await until_served(gateway, 1) == {"compared": 1}
        found += [record.comes_to for record in read_log(logs) if isinstance(record, ShadowRecord)]

    assert found == ["same", "other"]


def completed(text):
    choice = {"index": 0, "text": text, "finish_reason": "stop"}
    body = {"id": "c1", "object": "text_completion", "choices": [choice]}
    return lambda got: sse_reply(event(body), DONE) if got.json.get("stream") else json_reply(body)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("said", ["one", "two"])
async def test_completions_are_shadowed_as_chats_are(said, stream, tmp_path: Path):
    way = next(way for way in WAYS if way.name == "completions")
    async with (
        fake_upstream(completed("one")) as primary,
        fake_upstream(completed(said)) as shadow,
        running_gateway(policy(primary.base, shadow.base, compare=["exact", "edit"]), tmp_path) as gateway,
    ):
        answer = await asked(gateway.port, way, stream)
        results = await until_served(gateway, 1)
        chapter = gateway.gateway.shadows.chapters["s"]

    assert b'"one"' in answer
    assert results == {"compared": 1}
    (got,) = shadow.received
    assert (got.path, got.json["prompt"], got.header("x-turnout-shadow")) == ("/v1/completions", "hi", "true")
    assert chapter.evidence["exact"].shadow == {0 if said == "one" else 100: 1}
    assert chapter.evidence["edit"].shadow == {0 if said == "one" else 100: 1}


async def test_embeddings_are_not_for_two_models_vectors_have_nothing_in_common(tmp_path: Path):
    way = next(way for way in WAYS if way.name == "embeddings")
    reply = json_reply({"object": "list", "data": [{"index": 0, "embedding": [1.0]}]})
    spoken = json.loads(policy("http://m", "http://b"))
    async with fake_upstream(reply) as primary, fake_upstream(reply) as shadow:
        for name, server in (("m", primary), ("b", shadow)):
            spoken["models"][name] |= {"at": f"{server.base}/v1", "can": ["embeddings"]}
        async with running_gateway(json.dumps(spoken), tmp_path) as gateway:
            answer = await asked(gateway.port, way, False)
            assert b" 200 " in answer.split(b"\r\n")[0]
            shadows = gateway.gateway.shadows
            assert (shadows.busy, shadows.chapters["s"].results) == (0, {})

    assert shadow.received == []


async def test_a_server_of_messages_is_shadowed_and_shadows(tmp_path: Path):
    way = next(way for way in WAYS if way.name == "messages")
    spoken = json.loads(policy("http://m", "http://b", compare=["exact"]))
    async with (
        fake_upstream(messages_either("one ", "two")) as primary,
        fake_upstream(messages_either("one")) as shadow,
    ):
        for name, server in (("m", primary), ("b", shadow)):
            spoken["models"][name] |= {"at": f"{server.base}/v1", "dialect": "anthropic"}
        async with running_gateway(json.dumps(spoken), tmp_path) as gateway:
            for stream in (False, True):
                answer = await asked(gateway.port, way, stream)
                assert b"two" in answer
            results = await until_served(gateway, 2)

    assert results == {"compared": 2}
    assert len(shadow.received) == 2


FLOOD = sse_reply(*[text_chunk("never " * 200) for _ in range(5_000)])
FAULTS = {
    "hangs": (Reply((Until(asyncio.Event()),)), "failed"),
    "hangs in its stream": (sse_reply(text_chunk("a"), Until(asyncio.Event())), "failed"),
    "says 500": (json_reply({"error": {"message": "no"}}, 500), "failed"),
    "floods": (FLOOD, "failed"),
    "is cut": (sse_reply(text_chunk("a"), Cut.RESET), "failed"),
    "is no server": (Reply((b"what?\r\n\r\n",), framing="raw"), "failed"),
    "says something else": (json_reply({"choices": []}), "failed"),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.replace(" ", "-"))
async def test_whatever_fault_a_shadow_has_the_answer_is_the_same(fault, stream, tmp_path: Path):
    reply, result = FAULTS[fault]
    way = CHATS[0]
    async with fake_upstream(chat_either("one ", "two")) as primary, fake_upstream(reply) as shadow:
        told = policy(primary.base, shadow.base, limits={"cost": "$1/day", "deadline": "300ms"})
        async with running_gateway(policy(primary.base, shadow.base, sample=""), tmp_path) as alone:
            without = await asked(alone.port, way, stream)
        async with running_gateway(told, tmp_path) as gateway:
            answers = [await asked(gateway.port, way, stream) for _ in range(3)]
            results = await until_served(gateway, 3)
            assert gateway.holds_nothing()
            taken = gateway.gateway.shadows.chapters["s"].taken_microusd
            page = gateway.gateway.observer.metrics_page().decode()

    assert {same(answer) for answer in answers} == {same(without)}
    assert sum(results.values()) == 3
    assert results.get(result, 0) >= 1
    assert 0 <= taken <= 1_000_000
    assert 'router_attempts_total{gen_ai_request_model="m"} 3.0' in page
    assert 'router_attempts_total{gen_ai_request_model="b"} 0.0' in page
    assert "router_requests_total{" in page


async def test_a_shadow_that_is_killed_is_left_alone_after_a_while(tmp_path: Path):
    async with fake_upstream(chat_either("one")) as primary, fake_upstream(chat_either("one")) as gone:
        base = gone.base
    async with (
        fake_upstream(chat_either("one")) as primary,
        running_gateway(policy(primary.base, base, limits={"cost": "$1/day", "in_flight": 1}), tmp_path) as g,
    ):
        for number in range(5):
            assert b" 200 " in await asked(g.port, CHATS[0], False)
            results = await until_served(g, number + 1)

    assert results == {"failed": 1, "resting": 4}


async def test_a_queue_that_is_full_drops_the_newest_and_counts_it(tmp_path: Path):
    held = asyncio.Event()
    answer = chat_stream("one")
    async with (
        fake_upstream(chat_either("one")) as primary,
        fake_upstream(Reply((Until(held), *answer.steps), headers=answer.headers)) as shadow,
    ):
        limits = {"cost": "$1/day", "in_flight": 1, "queue": 2}
        async with running_gateway(policy(primary.base, shadow.base, limits=limits), tmp_path) as gateway:
            for _ in range(8):
                await asked(gateway.port, CHATS[0], True)
            shadows = gateway.gateway.shadows
            await gateway.until(lambda _: shadows.chapters["s"].results.get("no_room", 0) == 5)
            held.set()
            results = await until_served(gateway, 8)

    assert results == {"compared": 3, "no_room": 5}


async def test_who_asks_to_be_left_out_is_and_a_shadow_is_not_shadowed(tmp_path: Path):
    async with fake_upstream(chat_either("one")) as primary, fake_upstream(chat_either("one")) as shadow:
        told = policy(primary.base, shadow.base, never_when={"header.x-private": "yes"})
        async with running_gateway(told, tmp_path) as gateway:
            await asked(gateway.port, CHATS[0], False, b"x-private: yes\r\n")
            await asked(gateway.port, CHATS[0], False, b"x-turnout-shadow: true\r\n")
            await asked(gateway.port, CHATS[0], False)
            results = await until_served(gateway, 1)

    assert results == {"compared": 1}
    assert len(shadow.received) == 1


async def test_money_is_kept_over_a_restart_and_the_day_ends_at_its_cap(tmp_path: Path):
    """A call may cost up to ($10/M) x (100 output + prompt + body): some 2,300 micro-dollars; it comes to 100."""
    kept = {"shadows": ShadowSettings(dir=tmp_path / "shadows")}
    async with fake_upstream(chat_either("one")) as primary, fake_upstream(chat_either("one")) as shadow:
        told = policy(primary.base, shadow.base, limits={"cost": "$0.0035/day", "in_flight": 1})
        counts = []
        for _ in range(3):
            async with running_gateway(told, tmp_path, **kept) as gateway:
                for number in range(8):
                    await asked(gateway.port, CHATS[0], False)
                    await until_served(gateway, counts[-1][0] + number + 1 if counts else number + 1)
                chapter = gateway.gateway.shadows.chapters["s"]
                counts.append((sum(chapter.results.values()), chapter.taken_microusd, len(shadow.received)))

    taken = [taken for _, taken, _ in counts]
    assert taken == sorted(taken)
    assert taken[-1] <= 3_500
    assert taken[-1] == 100 * len(shadow.received)
    assert Shelf(tmp_path / "shadows").all()["s"].results["over_budget"] > 0


async def test_a_comparison_is_a_record_of_numbers_beside_its_request(tmp_path: Path):
    logs = tmp_path / "log"
    async with (
        fake_upstream(chat_either("the secret ", "answer")) as primary,
        fake_upstream(chat_either("the other ", "answer")) as shadow,
    ):
        told = policy(primary.base, shadow.base, compare=["exact", "edit"], noise_floor={"answer_twice": "100%"})
        async with running_gateway(told, tmp_path, decisions=Decisions(dir=logs)) as gateway:
            await asked(gateway.port, CHATS[0], True)
            assert await until_served(gateway, 1) == {"compared": 1}
        assert len(primary.received) == 2

    records = list(read_log(logs))
    (decided,) = [record for record in records if isinstance(record, DecisionRecord)]
    (compared,) = [record for record in records if isinstance(record, ShadowRecord)]
    assert compared.request_id == decided.request_id
    assert (compared.primary, compared.model, compared.probability) == ("m", "b", 1.0)
    assert compared.differs == {"exact": 100, "normalised": 100, "edit": 33}
    assert compared.floor == {"exact": 0, "normalised": 0, "edit": 0}
    assert decided.outcome.microusd == 9, "what is spent for comparison is not the request's"
    assert b"secret" not in b"".join(path.read_bytes() for path in logs.rglob("*") if path.is_file())
    found = told_of(Shelf(logs / "shadows").all()["s"])
    assert {finding.rung: finding.excess.pairs for finding in found.findings} == {
        "exact": 1,
        "normalised": 1,
        "edit": 1,
    }
    assert msgspec.json.decode(msgspec.json.encode(found))["twice"] == 1


async def test_a_reload_brings_a_shadow_in_and_takes_it_away_and_a_bad_one_changes_nothing(tmp_path: Path):
    async with fake_upstream(chat_either("one")) as primary, fake_upstream(chat_either("one")) as shadow:
        without = policy(primary.base, shadow.base, sample="")
        async with running_gateway(without, tmp_path) as gateway:
            await asked(gateway.port, CHATS[0], False)
            for text, drawn in (
                (policy(primary.base, shadow.base), 1),
                (policy(primary.base, shadow.base, of="nobody"), 2),
                (without, 2),
            ):
                gateway.policy.write_text(text)
                await gateway.reloader.reload()
                await asked(gateway.port, CHATS[0], False)
                await gateway.until(lambda _: not gateway.gateway.shadows.busy)
                assert len(shadow.received) == drawn
            assert gateway.gateway.shadows.chapters == {}

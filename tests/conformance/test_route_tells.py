"""POST /v1/route: the decision that a chat request would get, for systems and people, and nothing that it would cause."""

import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import FakeUpstream, chat_either, fake_upstream

HI = {"messages": [{"role": "user", "content": "hi"}]}
KEY = {"x-api-key": "ck-1"}
KEYS = '[{"hash": "%s", "tenant": "acme", "models": ["small", "large"]}]'
IMAGE = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]

Asked = tuple[RunningGateway, FakeUpstream, httpx.AsyncClient]


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    keys = tmp_path / "keys.json"
    keys.write_text(KEYS % sha256(b"ck-1").hexdigest())
    async with fake_upstream(chat_either("ok")) as upstream:
        text = f"""
policy: 1
models:
  small: {{at: '{upstream.base}/small', price: {{input: $1/M, output: $4/M}}, fits: {{context: 1k}}, can: [tools]}}
  large: {{at: '{upstream.base}/large', price: {{input: $5/M, output: $20/M}}, fits: {{context: 8k}}, can: [tools]}}
  other: {{at: '{upstream.base}/other'}}
routes:
  - {{name: tools, when: {{has: tools}}, use: large}}
  - {{name: default, use: small, fallback: [large]}}
"""
        async with (
            running_gateway(text, tmp_path, keys_file=keys) as gateway,
            httpx.AsyncClient(base_url=gateway.base, headers=KEY, timeout=20) as client,
        ):
            yield gateway, upstream, client


async def told(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post("/v1/route", json={"model": "auto", **HI, **body})
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    whole: dict[str, Any] = answer.json()
    return whole


async def test_it_is_the_decision_that_the_chat_request_then_gets(asked: Asked) -> None:
    gateway, _, client = asked

    before = await told(client)
    answer = await client.post("/v1/chat/completions", json={"model": "auto", **HI})

    assert before["status"] == answer.status_code == 200
    first = before["decision"]["steps"][0]
    assert first["model"] == answer.headers["x-turnout-model"] == "small"
    assert before["decision"]["route"] == answer.headers["x-turnout-route"]
    assert before["decision"]["reason"] == answer.headers["x-turnout-reason"]
    assert before["decision"]["policy_hash"] == answer.headers["x-turnout-policy"] == gateway.gateway.live.policy.hash


async def test_every_model_has_its_terms_or_the_reason_why_it_fell(asked: Asked) -> None:
    _, _, client = asked

    whole = await told(client)

    stand = {c["model"]: {term["name"] for term in c["terms"]} for c in whole["decision"]["candidates"]}
    assert stand == {name: {"price", "quality", "affinity", "again", "wait"} for name in ("small", "large")}
    assert [(drop["model"], drop["filter"]) for drop in whole["decision"]["dropped"]] == [("other", "route")]
    assert whole["facts"]["tenant"] == "acme"
    assert whole["facts"]["prompt_tokens"] > 0
    assert whole["estimate"]["abstains"]
    assert whole["decision"]["line"] is None, "this route draws none"


async def test_nothing_is_generated_claimed_counted_or_learnt(asked: Asked) -> None:
    gateway, upstream, client = asked

    for _ in range(60):
        await told(client)

    live = gateway.gateway.live
    assert upstream.received == []
    assert [(replica.running, replica.queued_tokens) for replica in live] == [(0, 0)] * 3
    assert live.in_flight == gateway.gateway.door.in_flight == 0
    assert gateway.gateway.lines.waiting == {}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"model": "gpt-99"}, 404, "unknown_model"),
        ({"model": "other"}, 403, "model_not_allowed"),
        ({"messages": [{"role": "user", "content": "word " * 9_000}]}, 400, "context_length_exceeded"),
        ({"messages": [{"role": "user", "content": IMAGE}]}, 400, "unsupported_content"),
    ],
)
async def test_a_refusal_is_told_with_the_status_that_the_chat_request_gets(
    asked: Asked, body: dict[str, Any], status: int, code: str
) -> None:
    _, upstream, client = asked

    whole = await told(client, **body)
    answer = await client.post("/v1/chat/completions", json={"model": "auto", **HI, **body})

    assert (whole["status"], whole["decision"]["steps"][0]["code"]) == (status, code)
    assert answer.status_code == status
    assert upstream.received == []


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"content": b"{"}, 400),
        ({"content": b"[]"}, 400),
        ({"json": {"model": "auto", "messages": [{"role": "banana", "content": "x"}]}}, 400),
        ({"json": {"model": "auto", **HI}, "headers": {"x-api-key": "wrong"}}, 401),
        ({"content": b'{"model":"auto","messages":' + b"[" * 200 + b"]" * 200 + b"}"}, 400),
    ],
)
async def test_what_is_no_chat_request_is_refused_in_the_envelope(asked: Asked, sent: Any, status: int) -> None:
    _, _, client = asked

    answer = await client.post("/v1/route", **sent)
    chat = await client.post("/v1/chat/completions", **sent)

    assert answer.status_code == chat.status_code == status
    assert answer.json() == chat.json()


async def test_another_method_is_told_which_one_there_is(asked: Asked) -> None:
    _, _, client = asked

    answer = await client.get("/v1/route")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST, OPTIONS")


async def test_a_person_who_asks_for_text_gets_lines(asked: Asked) -> None:
    _, upstream, client = asked

    answer = await client.post("/v1/route", json={"model": "auto", **HI}, headers={"accept": "text/plain"})

    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    assert lines[0] == f"answer    small at {upstream.base}/small"
    assert lines[1] == "why       small: route default uses it"
    standing = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert standing == ["chosen", "fallback", "dropped:"]


async def test_a_request_that_could_forge_lines_of_text_does_not(asked: Asked) -> None:
    _, _, client = asked

    body = json.dumps({"model": "x\nanswer    large at http://evil", **HI})
    answer = await client.post("/v1/route", content=body, headers={"accept": "text/plain"})

    assert [line for line in answer.text.splitlines() if line.startswith("answer")] == []


WAYS: dict[str, dict[str, Any]] = {
    "/chat/completions": HI,
    "/messages": {**HI, "max_tokens": 9},
    "/responses": {"input": "hi"},
    "/completions": {"prompt": "hi"},
    "/embeddings": {"input": "hi"},
}
FAULTY: dict[str, dict[str, Any]] = {
    "/chat/completions": {"messages": 7},
    "/messages": HI,
    "/responses": {"input": 7},
    "/completions": {"prompt": {}},
    "/embeddings": {"input": 7},
}


@pytest.mark.parametrize("path", WAYS)
async def test_every_dialect_is_told_what_its_own_request_then_gets(asked: Asked, path: str) -> None:
    _, upstream, client = asked

    told = await client.post(f"/v1/route{path}", json={"model": "auto", **WAYS[path]})
    assert upstream.received == []
    answer = await client.post(f"/v1{path}", json={"model": "auto", **WAYS[path]})

    whole = told.json()
    assert told.status_code == 200, told.text
    assert whole["decision"]["route"] == answer.headers.get("x-turnout-route", "")
    assert whole["decision"]["reason"] == answer.headers.get("x-turnout-reason", whole["decision"]["reason"])
    if path not in ("/completions", "/embeddings"):  # the fake server behind answers chats
        assert (whole["status"], whole["decision"]["steps"][0]["model"]) == (200, answer.headers["x-turnout-model"])


@pytest.mark.parametrize("path", FAULTY)
async def test_every_dialect_is_refused_in_its_own_words(asked: Asked, path: str) -> None:
    _, _, client = asked

    told = await client.post(f"/v1/route{path}", json={"model": "auto", **FAULTY[path]})
    answer = await client.post(f"/v1{path}", json={"model": "auto", **FAULTY[path]})

    ids = {"request_id": None}
    assert told.status_code == answer.status_code == 400
    assert {**told.json(), **ids} == {**answer.json(), **ids}


@pytest.mark.parametrize("path", ["/v1/route/", "/v1/v1/route/messages", "/v1/route/messages/"])
async def test_what_people_write_is_understood(asked: Asked, path: str) -> None:
    _, _, client = asked

    assert (await client.post(path, json={"model": "auto", **WAYS["/messages"]})).status_code == 200


async def test_other_paths_beneath_it_are_none(asked: Asked) -> None:
    _, _, client = asked

    assert (await client.post("/v1/route/models", json={})).status_code == 404

"""GET /v1/models in both dialects, read by both official clients: `auto`, and what the key may name."""

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from servers.running_gateway import RunningGateway, running_gateway

POLICY = """
policy: 1
models:
  small: {at: "http://127.0.0.1:9/v1", fits: {context: 8k, output: 1k}}
  org/large: {at: "http://127.0.0.1:9/v1"}
  hidden: {at: "http://127.0.0.1:9/v1"}
routes: [{use: small}]
"""
VERSION = {"anthropic-version": "2023-06-01"}


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[RunningGateway]:
    entry = {"hash": hashlib.sha256(b"ck-1").hexdigest(), "tenant": "t", "models": ["small", "org/large"]}
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps([entry]))
    async with running_gateway(POLICY, tmp_path, keys_file=keys) as gateway:
        yield gateway


async def test_openais_client_lists_and_finds_them(gateway: RunningGateway) -> None:
    async with AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="ck-1", max_retries=0) as client:
        listed = [model.id async for model in client.models.list()]
        one = await client.models.retrieve("org/large")
        with pytest.raises(openai.PermissionDeniedError):
            await client.models.retrieve("hidden")
        with pytest.raises(openai.NotFoundError) as raised:
            await client.models.retrieve("nothing")

    assert listed == ["auto", "small", "org/large"]
    assert (one.id, one.object, one.owned_by) == ("org/large", "model", "turnout")
    assert raised.value.code == "model_not_found"


async def test_anthropics_client_lists_and_finds_them(gateway: RunningGateway) -> None:
    async with AsyncAnthropic(base_url=gateway.base, api_key="ck-1", max_retries=0) as client:
        listed = [model.id async for model in client.models.list(limit=1)]
        one = await client.models.retrieve("small")
        with pytest.raises(anthropic.PermissionDeniedError):
            await client.models.retrieve("hidden")
        with pytest.raises(anthropic.NotFoundError) as raised:
            await client.models.retrieve("nothing")

    assert listed == ["auto", "small", "org/large"]
    assert (one.id, one.type, one.display_name, one.lifecycle) == ("small", "model", "small", "active")
    assert (one.max_input_tokens, one.max_tokens) == (8_000, 1_000)
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["error"]["type"] == "not_found_error"


@pytest.mark.parametrize(
    ("query", "ids", "has_more"),
    [
        ("", ["auto", "small", "org/large"], False),
        ("?limit=2", ["auto", "small"], True),
        ("?limit=2&after_id=small", ["org/large"], False),
        ("?limit=1&before_id=org/large", ["small"], True),
        ("?before_id=auto", [], False),
    ],
)
async def test_pages_are_cut_where_the_query_says(
    query: str, ids: list[str], has_more: bool, gateway: RunningGateway
) -> None:
    page = (await asked(gateway, query)).json()

    assert [card["id"] for card in page["data"]] == ids
    assert page["has_more"] is has_more
    assert (page["first_id"], page["last_id"]) == ((ids[0], ids[-1]) if ids else (None, None))


@pytest.mark.parametrize(
    "query", ["?limit=0", "?limit=1001", "?limit=x", "?limit=1e2", "?after_id=hidden", "?" + "a=b&" * 99]
)
async def test_a_query_that_makes_no_sense_is_the_callers_fault(query: str, gateway: RunningGateway) -> None:
    answer = await asked(gateway, query)

    assert answer.status_code == 400, answer.text
    assert answer.json()["type"] == "error"
    assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_without_a_key_each_dialect_has_its_own_words(gateway: RunningGateway) -> None:
    async with httpx.AsyncClient() as client:
        plain = await client.get(f"{gateway.base}/v1/models")
        other = await client.get(f"{gateway.base}/v1/models", headers=VERSION)

    assert (plain.status_code, plain.json()["error"]["code"]) == (401, "invalid_api_key")
    assert (other.status_code, other.json()["error"]["type"]) == (401, "authentication_error")


async def asked(gateway: RunningGateway, query: str) -> Any:
    async with httpx.AsyncClient(headers={**VERSION, "x-api-key": "ck-1"}) as client:
        return await client.get(f"{gateway.base}/v1/models{query}")

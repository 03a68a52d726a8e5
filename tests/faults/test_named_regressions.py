"""Faults that other gateways and servers were named for in public: each class, as a law of this one."""

import ast
import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from servers.running_gateway import RunningGateway, one_model, running_gateway
from upstreams.fake_upstream import FakeUpstream, fake_upstream

from gateway.app import Routes

ROOT = Path(__file__).parents[2]
ROOMS = ("gateway", "classifiers", "backends", "policies")

KEY, TWIN, OTHER = "ck-0123456789abcdefghij-one", "ck-0123456789abcdefghij-two", "ck-other"
"""The first two are alike for longer than a cache that cuts its keys would look."""

OPEN = frozenset(("/healthz", "/readyz", "/metrics"))
"""Pages for probers: the first two tell a status, the last one counters. The details of the second need a key."""


def entry(key: str, tenant: str, *models: str) -> dict[str, object]:
    return {
        "hash": hashlib.sha256(key.encode()).hexdigest(),
        "tenant": tenant,
        **({"models": models} if models else {}),
    }


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with fake_upstream() as upstream:
        yield upstream


@pytest.fixture
async def gateway(upstream: FakeUpstream, tmp_path: Path) -> AsyncIterator[RunningGateway]:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps([entry(KEY, "one"), entry(TWIN, "two", "none-of-ours"), entry(OTHER, "three")]))
    async with running_gateway(one_model(upstream.base), tmp_path, keys_file=keys) as gateway:
        yield gateway


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def test_every_endpoint_but_the_probers_pages_is_shut_without_a_key(gateway: RunningGateway) -> None:
    """CVE-2026-35029: one route was added without the check that all others had."""
    table = {**Routes(gateway.gateway, None)._table, "/v1/models/m": {"GET": None}}
    answers = {}
    async with httpx.AsyncClient(base_url=gateway.base) as client:
        for path, methods in table.items():
            for method in methods:
                for key in ("", "wrong", hashlib.sha256(KEY.encode()).hexdigest()):
                    headers = bearer(key) if key else {}
                    answers[method, path, key] = (await client.request(method, path, headers=headers)).status_code

    shut = {asked: status for asked, status in answers.items() if asked[1] not in OPEN}
    assert len(shut) > 20
    assert set(shut.values()) == {401}, {asked: status for asked, status in shut.items() if status != 401}


async def test_keys_that_begin_alike_are_two_keys(gateway: RunningGateway, upstream: FakeUpstream) -> None:
    """CVE-2026-35030: identities were kept by the first twenty characters of a token."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    async with httpx.AsyncClient(base_url=gateway.base) as client:
        statuses = [
            (await client.post("/v1/chat/completions", json=body, headers=bearer(key))).status_code
            for key in (KEY, TWIN, KEY, TWIN[:-1], TWIN)
        ]

    assert statuses == [200, 403, 200, 401, 403]
    assert len(upstream.received) == 2


REDIRECTING = (
    "api_base",
    "base_url",
    "api_key",
    "custom_llm_provider",
    "deployment_id",
    "user_config",
    "extra_headers",
)


@pytest.mark.parametrize("where", ["body", "header", "query"])
async def test_no_request_says_where_it_goes(where: str, gateway: RunningGateway, upstream: FakeUpstream) -> None:
    """CVE-2024-6587: an address in the body took the provider's key along."""
    async with fake_upstream() as elsewhere, httpx.AsyncClient(base_url=gateway.base) as client:
        told = dict.fromkeys(REDIRECTING, f"{elsewhere.base}/v1")
        headers = {f"x-{name.replace('_', '-')}": value for name, value in told.items()} | told
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **(told if where == "body" else {})}
        await client.post(
            "/v1/chat/completions",
            json=body,
            headers={**bearer(KEY), **(headers if where == "header" else {})},
            params=told if where == "query" else {},
        )

        assert elsewhere.connections == 0
    assert len(upstream.received) == 1
    assert not {name for name, _ in upstream.last.headers} & set(headers)


async def test_no_page_tells_a_key_or_its_hash(gateway: RunningGateway) -> None:
    """GHSA-69x8-hrgq-fjj8: hashes of keys were shown, and were as good as the keys."""
    async with httpx.AsyncClient(base_url=gateway.base, headers=bearer(KEY)) as client:
        pages = [(await client.get(path)).text for path in ("/v1/models", "/v1/models/m", "/readyz", "/metrics")]
        refused = await client.get("/v1/models", headers=bearer("ck-nobody"))

    for key in (KEY, TWIN, OTHER, "ck-nobody"):
        for secret in (key, hashlib.sha256(key.encode()).hexdigest()):
            assert secret not in "".join(pages) + refused.text + str(refused.headers)


FORBIDDEN = {
    "pickle": "CVE-2025-32444: a pickle is a program",
    "marshal": "a program too",
    "shelve": "a pickle",
    "dill": "a pickle",
    "joblib": "a pickle",
    "eval": "CVE-2026-40217: no sandbox of Python holds",
    "exec": "CVE-2026-40217: no sandbox of Python holds",
    "compile": "for eval",
    "__import__": "code by name",
    "system": "CVE-2026-42271: a request that spawns processes",
    "popen": "CVE-2026-42271: a request that spawns processes",
}
"""Names that the product's code neither imports nor calls."""

OWN_METHODS = frozenset(("eval", "compile", "system"))
"""Also names of methods of other things: a torch module, a regular expression, a message's role."""


WORTH_PARSING = re.compile(rf"\b(?:{'|'.join([*FORBIDDEN, 'hash'])})\b")


def used_in(path: Path) -> Iterator[tuple[int, str]]:
    """Lines and names of what is imported or called."""
    text = path.read_text(encoding="utf-8")
    return used(ast.parse(text)) if WORTH_PARSING.search(text) else iter(())


def used(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module.split(".")[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.lineno, node.func.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in OWN_METHODS:
            yield node.lineno, node.func.attr


def test_nothing_that_could_run_what_it_is_given_is_in_the_tree() -> None:
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]

    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}: {FORBIDDEN[name]}"
        for path in files
        for line, name in used_in(path)
        if name in FORBIDDEN
    ]

    assert len(files) > 300
    assert found == []


def test_no_key_of_a_cache_is_pythons_own_hash() -> None:
    """CVE-2025-25183: prompts with a colliding `hash()` shared a cache. The one place left makes a secret hashable."""
    places = [
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for _, name in used_in(path)
        if name == "hash"
    ]

    assert places == ["gateway/secrets.py"]

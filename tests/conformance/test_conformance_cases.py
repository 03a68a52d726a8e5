"""Every case of cases/*.yaml against the real app over real sockets."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from conformance.judge_case import judge
from conformance.seen import seen_of
from conformance.world import CASES, world_of
from ruamel.yaml import YAML

HI = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
CHAT = "/v1/chat/completions"
WITHOUT_MESSAGES = ("/v1/responses", "/v1/completions")


def all_cases() -> list[Any]:
    """One parameter for each run of each case: `runs` are changes to the case's own words."""
    found = []
    for path in sorted(CASES.glob("*.yaml")):
        for case in YAML(typ="safe").load(path.read_text(encoding="utf-8")):
            for number, run in enumerate(case.get("runs", [{}])):
                name = f"{path.stem}: {case['case']}" + (f" ({run.get('run', number)})" if "runs" in case else "")
                found.append(pytest.param(case, run, id=name))
    return found


def merged(case: dict[str, Any], run: dict[str, Any], word: str) -> dict[str, Any]:
    return {**case.get(word, {}), **run.get(word, {})}


@pytest.mark.parametrize(("case", "run"), all_cases())
async def test_a_case_holds(
    case: dict[str, Any], run: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, when, then = (merged(case, run, word) for word in ("given", "when", "then"))
    for name, value in given.get("environment", {}).items():
        monkeypatch.setenv(name, value)

    async with world_of(given, tmp_path) as world, httpx.AsyncClient(timeout=20) as client:
        seen = seen_of(await client.request(method(when), world.gateway.base + when.get("path", CHAT), **sent(when)))

        judge(then, seen, world)
        await world.gateway.until_empty()


def method(when: dict[str, Any]) -> str:
    return str(when.get("method", "POST"))


def sent(when: dict[str, Any]) -> dict[str, Any]:
    headers = {"content-type": "application/json", **when.get("headers", {})}
    if "raw" in when:
        return {"content": when["raw"].encode(), "headers": headers}
    if when.get("method", "POST") != "POST":
        return {"headers": headers}
    return {"json": {**plain(when.get("path", CHAT)), **when.get("body", {})}, "headers": headers}


def plain(path: str) -> dict[str, Any]:
    """What a body has that a case says nothing of."""
    return {"model": "m"} if path in WITHOUT_MESSAGES else HI

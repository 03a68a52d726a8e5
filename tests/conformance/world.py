"""A case's `given:` as real servers: fake upstreams, a policy that names them, a gateway in front."""

import asyncio
import gzip
import hashlib
import json
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_messages import messages_either, told
from upstreams.fake_upstream import (
    Cut,
    FakeUpstream,
    Pause,
    Reply,
    Script,
    Step,
    Until,
    chat_either,
    chunk,
    event,
    fake_upstream,
    json_reply,
    sse_reply,
    unused_port,
)

CASES = Path(__file__).parent / "cases"


@dataclass
class World:
    gateway: RunningGateway
    upstreams: Mapping[str, FakeUpstream]


def reply_of(answer: Mapping[str, Any]) -> Reply:
    """What an upstream does, from its description in a case."""
    reply = plain_reply(answer)
    headers = dict(reply.headers)
    if "type" in answer:
        headers["content-type"] = answer["type"]
    if "packed" not in answer:
        return replace(reply, headers=tuple(headers.items()))
    coding, way = answer["packed"].split(", ")
    headers["content-encoding"] = coding
    whole = b"".join(step for step in reply.steps if isinstance(step, bytes))
    return replace(reply, steps=(packed(whole, way),), headers=tuple(headers.items()))


def packed(body: bytes, way: str) -> bytes:
    """In one of the ways in which servers do it."""
    if way == "bare":
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return packer.compress(body) + packer.flush()
    half = len(body) // 2
    members = gzip.compress(body[:half]) + gzip.compress(body[half:])
    return {"in two": members, "with zeros behind": members + bytes(9), "torn": members[:-9]}[way]


def plain_reply(answer: Mapping[str, Any]) -> Reply:
    headers = list(answer.get("headers", {}).items())
    if "json" in answer:
        return json_reply(answer["json"], answer.get("status", 200), headers)
    if "raw_json" in answer:
        return Reply((answer["raw_json"].encode(),), answer.get("status", 200), framing="length")
    if "bytewise" in answer:
        return sse_reply(*[bytes([byte]) for byte in answer["bytewise"].encode("latin-1")])
    if "messages" in answer:
        return sse_reply(*[told(item) for item in answer["messages"]])
    if "events" in answer:
        return sse_reply(*[event_of(item) for item in answer["events"]])
    return sse_reply(*[step_of(item) for item in answer["writes"]])


def event_of(item: Any) -> bytes:
    """A string is sent as it is; an object without `error` gets the fields that every chunk has."""
    return event(item) if isinstance(item, str) or "error" in item else chunk(**item)


def step_of(item: Any) -> Step:
    if isinstance(item, str):
        return item.encode("latin-1")
    if "pause_s" in item:
        return Pause(item["pause_s"])
    if "hang" in item:
        return Until(asyncio.Event())
    return Cut(item["cut"])


def scripts_of(answers: Any) -> list[Script]:
    if answers is not None and "says" in answers:
        return [messages_either(*answers["says"])]
    if answers is None or "texts" in answers:
        return [chat_either(*(answers or {"texts": ["ok"]})["texts"])]
    return [reply_of(answers)]


def policy_text(given: Mapping[str, Any], bases: Mapping[str, str]) -> str:
    """The policy of a case as the file that the gateway reads (JSON is YAML). `at: A` names an upstream of the case."""
    models = given.get("models", {"m": {"at": "A"}})
    placed = {name: {**facts, "at": bases[facts["at"]] + facts.get("path", "/v1")} for name, facts in models.items()}
    for facts in placed.values():
        facts.pop("path", None)
    routes = given.get("routes", [{"use": next(iter(models))}])
    rest = {"resilience": given["resilience"]} if "resilience" in given else {}
    return json.dumps({"policy": 1, "models": placed, "routes": routes, **rest})


def keys_file(keys: Mapping[str, Any], folder: Path) -> Path:
    rows = [{"hash": hashlib.sha256(key.encode()).hexdigest(), **entry} for key, entry in keys.items()]
    path = folder / "keys.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


@asynccontextmanager
async def world_of(given: Mapping[str, Any], folder: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        upstreams: dict[str, FakeUpstream] = {}
        bases: dict[str, str] = {}
        for name, answers in given.get("upstreams", {"A": None}).items():
            if answers and answers.get("refuses"):
                bases[name] = f"http://127.0.0.1:{unused_port()}"
                continue
            upstreams[name] = await stack.enter_async_context(fake_upstream(*scripts_of(answers)))
            bases[name] = upstreams[name].base
        settings = dict(given.get("settings", {}))
        if "keys" in given:
            settings["keys_file"] = keys_file(given["keys"], folder)
        gateway = await stack.enter_async_context(running_gateway(policy_text(given, bases), folder, **settings))
        yield World(gateway, upstreams)

"""What the clients speak with: a gateway before a fake upstream, one before noise, one before a model that calls."""

import asyncio
import base64
import json
import shutil
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.json_vocabulary import SIZE, VOCABULARY
from engine.stub_models import PrefixModel, ScriptModel, StubVocabulary
from servers.in_process import engine_of, gateway_around, in_process_gateway
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import (
    DONE,
    FakeUpstream,
    Received,
    Reply,
    Until,
    chat_either,
    chunk,
    event,
    fake_upstream,
    finish_chunk,
    json_reply,
    sse_reply,
    text_chunk,
    usage,
)

from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.grammar.compile import Grammars

HERE = Path(__file__).parent

PLACE, SURE = '{"at":"Ghent"}', '{"sure":true}'
PIECES = {
    1: "One moment.\n",
    2: "<tool",
    3: '_call>{"name": "look", "argu',
    4: 'ments": {"at": "Ghent"}}',
    5: "</tool_call>",
}
CALLS_ONCE = [1, 2, 3, 4, 5, 0]


def why_not() -> str:
    """Why no Node client can be run here, or ""."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not (HERE / "node_modules").is_dir():
        return "the clients are not installed: npm install --prefix tests/sdks"
    return ""


@dataclass(frozen=True)
class World:
    """The gateways by what is behind them: `there`, `noise`, `calls`."""

    gateways: Mapping[str, RunningGateway]
    upstream: FakeUpstream


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(fake_upstream(answer))
        there = await stack.enter_async_context(running_gateway(two_models(upstream.base), made(folder, "there")))
        noise, _ = await stack.enter_async_context(
            in_process_gateway(
                PrefixModel(blocks=512, vocab_size=SIZE), VOCABULARY, made(folder, "noise"), Grammars(VOCABULARY, SIZE)
            )
        )
        calls = await stack.enter_async_context(calling(made(folder, "calls")))
        yield World({"there": there, "noise": noise, "calls": calls}, upstream)


def two_models(at: str) -> str:
    """`m` chats and `e` embeds."""
    return (
        f"policy: 1\nmodels: {{m: {{at: '{at}/v1'}}, e: {{at: '{at}/v1', can: [embeddings]}}}}\n"
        "routes: [{when: {has: embeddings}, use: e}, {use: m}]\n"
    )


def made(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


@asynccontextmanager
async def calling(folder: Path) -> AsyncIterator[RunningGateway]:
    """Before a model in its process that says a word and calls once, as Qwen does."""
    vocabulary = StubVocabulary(PIECES, eos=0)

    def build() -> Batch:
        model = ScriptModel(CALLS_ONCE, prompt=2)
        return Batch(model, vocabulary, revision="r", budget=Budget(), clock=lambda: 0.0)

    upstream = engine_of(build, vocabulary, calls="hermes")
    async with gateway_around(upstream, folder, can=frozenset({"tools", "logprobs"})) as gateway:
        await gateway.until(lambda _: upstream.load().ready)
        yield gateway


def answer(got: Received) -> Reply:
    """As a real server would: by what the last message asks, and by what comes with it."""
    asked, streams = got.json, got.json.get("stream")
    if got.path == "/v1/embeddings":
        return vectors(asked["input"], packed=asked.get("encoding_format") == "base64")
    said = json.dumps(asked["messages"][-1]["content"])
    if "endless" in said:
        return sse_reply(text_chunk("a"), Until(asyncio.Event()))
    if "cut" in said:
        return sse_reply(text_chunk("Hel"), event({"error": {"message": "boom", "type": "server_error"}}))
    if asked.get("tools"):
        name = asked["tools"][0]["function"]["name"]
        arguments = PLACE if name == "look" else SURE  # a tool of the client's own, by which it asks for JSON
        return streamed_call(name, arguments) if streams else whole_call(name, arguments)
    if asked.get("response_format"):
        return chat_either(SURE)(got)
    return chat_either("Hel", "lo")(got)


def vectors(texts: Sequence[str], *, packed: bool) -> Reply:
    """Numbers that single precision holds exactly; base64 where it is asked for."""
    found = [[0.5, -2.0, float(place)] for place in range(len(texts))]
    shown: list[Any] = [base64.b64encode(struct.pack("<3f", *v)).decode() for v in found] if packed else found
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(shown)]
    return json_reply({"object": "list", "model": "e", "data": data, "usage": {"prompt_tokens": 2, "total_tokens": 2}})


def call_of(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"index": 0, "id": "call_1", "type": "function", "function": function}


def whole_call(name: str, arguments: str) -> Reply:
    message = {"role": "assistant", "content": None, "tool_calls": [call_of(name, arguments)]}
    choices = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return json_reply({**head, "choices": choices, "usage": usage()})


def streamed_call(name: str, arguments: str) -> Reply:
    cut = [arguments[at : at + 5] for at in range(0, len(arguments), 5)]
    rest = [{"index": 0, "function": {"arguments": piece}} for piece in cut]
    deltas = [{"role": "assistant", "tool_calls": [call_of(name, "")]}, *({"tool_calls": [piece]} for piece in rest)]
    pieces = [chunk(choices=[{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    return sse_reply(*pieces, finish_chunk("tool_calls"), chunk(choices=[], usage=usage()), DONE)


@asynccontextmanager
async def seen_by(client: str, world: World, asked: Mapping[str, Sequence[str]]) -> AsyncIterator[Any]:
    """What the client saw of these scenarios, by world and scenario. Its process lives until this is left."""
    wanted = {name: {"base": world.gateways[name].base, "scenarios": list(names)} for name, names in asked.items()}
    process = await asyncio.create_subprocess_exec(
        "node",
        str(HERE / "run.mjs"),
        client,
        json.dumps(wanted),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(await process.stdout.readline())
    finally:
        process.stdin.close()
        await process.wait()

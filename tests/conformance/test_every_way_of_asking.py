"""Whatever dialect a client asks in, it is routed, held back, booked and let go in the same way."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from conformance.seen import seen_of
from engine.stub_models import ScriptModel, StubVocabulary
from openai import AsyncOpenAI
from servers.in_process import in_process_gateway
from servers.plain_client import connected, head
from servers.running_gateway import one_model, running_gateway
from upstreams.fake_messages import STOP, block, ending, messages_either, start, text_block
from upstreams.fake_upstream import (
    DONE,
    Received,
    Reply,
    Script,
    Until,
    chat_either,
    event,
    fake_upstream,
    json_reply,
    sse_reply,
    text_chunk,
    unused_port,
    usage,
)

from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord
from gateway.decisions.replay import policies_beside, replay
from gateway.settings import Decisions, Telemetry
from policies.escalate.plan import Weights
from policies.escalate.weights_file import write_weights

REFUSES = "I'm sorry, but I can't help with that."
TURNS = [{"role": "user", "content": "hi"}]


@dataclass(frozen=True)
class Way:
    """One way to ask: where, with what, and how an answer's text is read, whole and from a stream's events."""

    path: str
    body: dict[str, Any]
    whole: Callable[[Any], str]
    piece: Callable[[Any], str]

    def text(self, answer: httpx.Response, stream: bool) -> str:
        return "".join(map(self.piece, seen_of(answer).events)) if stream else self.whole(answer.json())


WAYS = {
    "openai_chat": Way(
        "/v1/chat/completions",
        {"messages": TURNS},
        lambda whole: str(whole["choices"][0]["message"]["content"]),
        lambda got: got["choices"][0]["delta"].get("content") or "" if got["choices"] else "",
    ),
    "anthropic": Way(
        "/v1/messages",
        {"messages": TURNS, "max_tokens": 64},
        lambda whole: str(whole["content"][0]["text"]),
        lambda got: got["delta"].get("text", "") if got["type"] == "content_block_delta" else "",
    ),
    "openai_responses": Way(
        "/v1/responses",
        {"input": "hi"},
        lambda whole: str(whole["output"][0]["content"][0]["text"]),
        lambda got: got["delta"] if got["type"] == "response.output_text.delta" else "",
    ),
    "openai_completions": Way(
        "/v1/completions",
        {"prompt": "hi"},
        lambda whole: str(whole["choices"][0]["text"]),
        lambda got: got["choices"][0]["text"] if got["choices"] else "",
    ),
}
every_way = pytest.mark.parametrize("name", WAYS)
both = pytest.mark.parametrize("stream", [True, False])


def bare(*texts: str) -> Script:
    """The older Completions, streamed when asked to, with log-probabilities where they are asked for."""

    def reply(got: Received) -> Reply:
        asked = got.json
        logprobs = {"tokens": ["t"], "token_logprobs": [-0.1]} if asked.get("logprobs") is not None else None
        head = {"id": "c1", "object": "text_completion", "created": 1, "model": "x"}

        def choice(text: str, reason: str | None) -> dict[str, Any]:
            return {**head, "choices": [{"index": 0, "text": text, "logprobs": logprobs, "finish_reason": reason}]}

        if not asked.get("stream"):
            return json_reply({**choice("".join(texts), "stop"), "usage": usage()})
        counted = {**head, "choices": [], "usage": usage()}
        return sse_reply(*[event(choice(t, None)) for t in texts], event(choice("", "stop")), event(counted), DONE)

    return reply


def says(*texts: str) -> Script:
    """A server of OpenAI's dialects that says these pieces, in whichever it is asked."""

    def reply(got: Received) -> Reply:
        script = chat_either(*texts) if got.path.endswith("/chat/completions") else bare(*texts)
        assert callable(script)
        return script(got)

    return reply


async def ask(base: str, way: Way, stream: bool, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(timeout=10) as client:
        body = {"model": "auto", **way.body, "stream": stream}
        return await client.post(f"{base}{way.path}", json=body, headers=headers)


@both
@every_way
async def test_a_fallback_is_told_and_kept_alike(name: str, stream: bool, tmp_path: Path) -> None:
    way, kept, trace = WAYS[name], Decisions(dir=tmp_path / "log"), f"00-{'1' * 32}-{'2' * 16}-01"
    async with fake_upstream(says("O", "k")) as large:
        policy = (
            f"policy: 1\nmodels: {{small: {{at: 'http://127.0.0.1:{unused_port()}'}}, large: {{at: '{large.base}', "
            "price: {input: $1/M, output: $2/M}}}\nroutes: [{name: r, use: small, fallback: [large]}]\n"
        )
        async with running_gateway(policy, tmp_path, decisions=kept) as gateway:
            answer = await ask(gateway.base, way, stream, traceparent=trace)
            await gateway.until_empty()

    [record] = [record for record in read_log(tmp_path / "log") if isinstance(record, DecisionRecord)]
    reason = "large: fallback, small failed (connect_failed)"
    assert way.text(answer, stream) == "Ok"
    assert (answer.headers["x-turnout-model"], answer.headers["x-turnout-reason"]) == ("large", reason)
    outcome = record.outcome
    assert (outcome.dialect, outcome.reason, outcome.end, outcome.attempts) == (name, reason, "stop", 2)
    assert outcome.usage is not None
    assert outcome.usage.prompt_tokens == 7
    assert outcome.microusd > 0
    assert record.request_id == answer.headers["x-turnout-request-id"]
    assert (large.last.header("traceparent") or "").startswith(f"00-{'1' * 32}-")


CASCADE = """
policy: 1
models:
  small: {{at: '{small}/v1', can: [logprobs], price: {{input: $1/M, output: $2/M}}}}
  large: {{at: '{large}/v1', price: {{input: $10/M, output: $20/M}}}}
routes: [{{use: small, escalate: careful}}]
escalations:
  careful: {{to: large, when: {{p_correct: {{under: 50%}}}}, hold_back: {{tokens: 4, at_most: 100ms}}}}
"""


@both
@every_way
async def test_a_refusal_is_never_seen_and_the_larger_model_answers(name: str, stream: bool, tmp_path: Path) -> None:
    way = WAYS[name]
    async with (
        fake_upstream(says(REFUSES)) as small,
        fake_upstream(says("Of ", "course")) as large,
        running_gateway(CASCADE.format(small=small.base, large=large.base), tmp_path) as gateway,
    ):
        answer = await ask(gateway.base, way, stream)
        await gateway.until_empty()

    assert "sorry" not in answer.text
    assert way.text(answer, stream) == "Of course"
    assert answer.headers["x-turnout-reason"].startswith("large: escalated from small")


CHOICE = "Which of these floats?\nA. a stone\nB. a cork"
BY_TASK = Weights(bias=3.0, tasks={"choice": Weights(bias=-3.0)})
"""Choices are always given up, and nothing else is."""


@both
@every_way
async def test_a_task_is_known_by_its_question_whatever_the_dialect(name: str, stream: bool, tmp_path: Path) -> None:
    way, kept = WAYS[name], Decisions(dir=tmp_path / "log")
    weights = tmp_path / "weights.json"
    weights.write_bytes(write_weights({"small": BY_TASK}, {}))
    turned = {key: json.loads(json.dumps(value).replace('"hi"', json.dumps(CHOICE))) for key, value in way.body.items()}
    async with fake_upstream(says("It is A")) as small, fake_upstream(says("It is B")) as large:
        policy = CASCADE.format(small=small.base, large=large.base).replace("100ms}", f"100ms}}, weights: '{weights}'")
        async with running_gateway(policy, tmp_path, decisions=kept) as gateway:
            usual = await ask(gateway.base, way, stream)
            choice = await ask(gateway.base, replace(way, body=turned), stream)
            await gateway.until_empty()

    assert way.text(usual, stream) == "It is A"
    assert way.text(choice, stream) == "It is B"
    assert "p_correct 0.05 under 0.50, weighed as choice" in choice.headers["x-turnout-reason"]
    first, second = [record for record in read_log(tmp_path / "log") if isinstance(record, DecisionRecord)]
    assert (first.facts.task, second.facts.task) == ("text", "choice")
    holds = [record.decision.hold.weighed_as for record in (first, second) if record.decision.hold]
    assert holds == [record.outcome.weighed_as for record in (first, second)] == ["", "choice"]
    assert replay(read_log(tmp_path / "log"), policies_beside(tmp_path / "log")).differ == ()


@every_way
async def test_a_good_answer_flows_and_shows_no_probabilities_that_nobody_asked_for(name: str, tmp_path: Path) -> None:
    way, stream = WAYS[name], name != "openai_responses"
    async with (
        fake_upstream(says("All ", "is ", "well ", "here ", "today")) as small,
        fake_upstream(says("no")) as large,
        running_gateway(CASCADE.format(small=small.base, large=large.base), tmp_path) as gateway,
    ):
        answer = await ask(gateway.base, way, stream)
        await gateway.until_empty()

    assert way.text(answer, stream) == "All is well here today"
    assert large.received == []
    assert small.last.json["logprobs"] == (0 if name == "openai_completions" else True)
    assert "token_logprobs" not in answer.text


@pytest.mark.parametrize(
    ("name", "first"), [("openai_responses", b'"delta":"a"'), ("openai_completions", b'"text":"a"')]
)
async def test_leaving_a_stream_closes_the_upstream_connection(name: str, first: bytes, tmp_path: Path) -> None:
    way, piece = WAYS[name], {"choices": [{"index": 0, "text": "a", "finish_reason": None}]}
    said = text_chunk("a") if name == "openai_responses" else event(piece)
    body = json.dumps({"model": "m", **way.body, "stream": True}).encode()
    async with (
        fake_upstream(sse_reply(said, Until(asyncio.Event()))) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
    ):
        async with connected(gateway.port) as client:
            await client.send(head(len(body), path=way.path.encode()) + body)
            await client.until(first)

            client.kill()

            await asyncio.wait_for(upstream.last.closed.wait(), 1.0)
        await gateway.until_empty(1.0)


@pytest.mark.parametrize(
    ("name", "span"), [("openai_responses", "chat m"), ("openai_completions", "text_completion m")]
)
async def test_a_trace_names_what_was_done(
    name: str, span: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    traced = Telemetry(log="off", traces="console")
    async with (
        fake_upstream(says("ok")) as upstream,
        running_gateway(one_model(upstream.base), tmp_path, telemetry=traced) as gateway,
    ):
        await ask(gateway.base, WAYS[name], stream=True)

    spans = capfd.readouterr().err
    assert f'"name": "{span}"' in spans
    assert f'"name": "POST {WAYS[name].path}"' in spans


@pytest.mark.parametrize("name", ["openai_responses", "openai_completions"])
async def test_a_worker_answers_another_gateway_as_it_answers_a_client(name: str, tmp_path: Path) -> None:
    way, pieces = WAYS[name], {1: " wor", 2: "<0xC3>", 3: "<0xA9>"}
    (tmp_path / "worker").mkdir()
    async with (
        in_process_gateway(ScriptModel([1, 2, 3, 0], prompt=2), StubVocabulary(pieces, eos=0), tmp_path / "worker") as (
            worker,
            _,
        ),
        running_gateway(one_model(worker.base), tmp_path) as gateway,
    ):
        through = [await ask(gateway.base, way, stream) for stream in (True, False)]
        await gateway.until_empty()

    assert [way.text(answer, stream) for answer, stream in zip(through, (True, False), strict=True)] == [" woré"] * 2


THINKS_AND_CALLS = sse_reply(
    start(),
    block(0, {"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "hm"}),
    text_block(1, "I ", "look"),
    block(
        2,
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
        *({"type": "input_json_delta", "partial_json": part} for part in ('{"at": "Gh', 'ent"}')),
    ),
    ending("tool_use", output_tokens=9),
    STOP,
)
MESSAGES = (
    "policy: 1\nmodels: {{m: {{at: '{at}', dialect: anthropic, fits: {{context: 1000, output: 64}}, can: [tools]}}}}\n"
    "routes: [{{use: m}}]\n"
)


async def test_a_server_of_anthropics_messages_answers_in_items(tmp_path: Path) -> None:
    tools: Any = [{"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}]
    async with (
        fake_upstream(messages_either("Hel", "lo"), THINKS_AND_CALLS) as upstream,
        running_gateway(MESSAGES.format(at=upstream.base), tmp_path) as gateway,
        AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0) as client,
    ):
        whole = await client.responses.create(model="m", input="hi", instructions="be terse")
        asked = upstream.last.json
        async with client.responses.stream(model="m", input="hi", tools=tools) as stream:
            final = await stream.get_final_response()

    assert whole.output_text == "Hello"
    assert (asked["messages"], asked["max_tokens"]) == ([{"role": "user", "content": "hi"}], 64)
    assert asked["system"] in ("be terse", [{"type": "text", "text": "be terse"}])
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]
    call = final.output[-1]
    assert call.type == "function_call"
    assert (call.call_id, json.loads(call.arguments)) == ("toolu_1", {"at": "Ghent"})
    assert final.usage is not None
    assert final.usage.output_tokens == 9

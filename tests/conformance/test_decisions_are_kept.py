"""What the gateway decides is on disk when it ends: whole, replayable, with feedback, and without a text or a key."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import Result
from servers.running_gateway import RunningGateway, running_gateway
from typer.testing import CliRunner
from upstreams.fake_upstream import chat_either, fake_upstream, json_reply

from gateway.cli import app
from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord, FeedbackRecord, Record, SignalRecord
from gateway.decisions.replay import policies_beside, replay
from gateway.settings import Decisions, Limits

KEYS = {"ck-acme-0123456789abcdef": "acme", "ck-other-0123456789abcdef": "other"}
PROMPT, ANSWER = "a prompt that nobody else shall read", "an answer that is nobody's business"
UPSTREAM_KEY = "kA-secret-of-the-upstream"

Asked = tuple[RunningGateway, httpx.AsyncClient]


def policy_text(base: str, first: str = "small") -> str:
    return f"""
policy: 1
models:
  small: {{at: '{base}/small/v1', key: 'env:KEY_A', price: {{input: $1/M, output: $4/M}}}}
  large: {{at: '{base}/large/v1', key: 'env:KEY_A', price: {{input: $5/M, output: $20/M}}}}
routes:
  - {{name: keyed, when: {{header.x-api-key: nobody}}, use: large}}
  - {{name: default, use: {first}, fallback: [large]}}
"""


def with_keys(folder: Path) -> Path:
    rows = [{"hash": sha256(key.encode()).hexdigest(), "tenant": tenant} for key, tenant in KEYS.items()]
    path = folder / "keys.json"
    path.write_text(json.dumps(rows))
    return path


@asynccontextmanager
async def asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *replies: Any, feedback_per_minute: int = 600
) -> AsyncIterator[Asked]:
    monkeypatch.setenv("KEY_A", UPSTREAM_KEY)
    async with fake_upstream(*(replies or (chat_either(ANSWER),))) as upstream:
        chosen = {
            "keys_file": with_keys(folder),
            "decisions": Decisions(dir=folder / "log"),
            "limits": Limits(feedback_per_minute=feedback_per_minute),
        }
        async with (
            running_gateway(policy_text(upstream.base), folder, **chosen) as gateway,
            httpx.AsyncClient(base_url=gateway.base, timeout=20) as client,
        ):
            client.headers["authorization"] = f"Bearer {next(iter(KEYS))}"
            yield gateway, client


async def chat(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    asking = {"model": "auto", "messages": [{"role": "user", "content": PROMPT}], **body}
    return await client.post("/v1/chat/completions", json=asking)


async def command(*words: str) -> Result:
    """In a thread of its own, as commands have a loop of their own."""
    return await asyncio.to_thread(CliRunner().invoke, app, list(words))


def split(records: list[Record]) -> tuple[list[DecisionRecord], list[FeedbackRecord]]:
    decided = [record for record in records if isinstance(record, DecisionRecord)]
    return decided, [record for record in records if isinstance(record, FeedbackRecord)]


def signals(folder: Path) -> list[SignalRecord]:
    return [record for record in read_log(folder / "log") if isinstance(record, SignalRecord)]


async def test_every_decision_is_kept_once_with_its_outcome_and_decides_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asked(tmp_path, monkeypatch) as (gateway, client):
        answers = [await chat(client), await chat(client, stream=True), await chat(client, model="large")]
        answers.append(await chat(client, model="sk-abcdefghijklmnop1234"))
        answers.append(await chat(client, model="nobody"))
        gateway.policy.write_text(gateway.policy.read_text().replace("use: small", "use: large"))
        await gateway.reloader.reload()
        answers.append(await chat(client))
        refused = await client.post("/v1/chat/completions", content=b"{", headers={"content-type": "application/json"})

    decided, _ = split(list(read_log(tmp_path / "log")))

    assert refused.status_code == 400
    assert [r.request_id for r in decided] == [a.headers["x-turnout-request-id"] for a in answers]
    assert [r.outcome.status for r in decided] == [a.status_code for a in answers] == [200, 200, 200, 404, 404, 200]
    assert [r.decision.policy_hash for r in decided] == [a.headers["x-turnout-policy"] for a in answers]
    assert [r.outcome.answered_by.model for r in decided if r.outcome.answered_by] == [
        "small",
        "small",
        "large",
        "large",
    ]
    first = decided[0].outcome
    assert first.usage is not None
    assert first.usage.completion_tokens > 0
    assert first.microusd > 0
    assert first.ttft_ms is not None
    assert {r.tenant for r in decided} == {"acme"}
    found = replay(read_log(tmp_path / "log"), policies_beside(tmp_path / "log"))
    assert (found.replayed, found.cleaned, found.differ, found.without_policy) == (5, 1, (), {})


async def test_failures_are_kept_with_their_code_and_what_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = json_reply({"error": {"message": f"Bearer {UPSTREAM_KEY} said: {PROMPT}"}}, 500)
    async with asked(tmp_path, monkeypatch, echo) as (_, client):
        answer = await chat(client)

    (record,), _ = split(list(read_log(tmp_path / "log")))

    assert record.outcome.status == answer.status_code >= 500
    assert record.outcome.end == "error"
    assert record.outcome.error_code
    assert record.outcome.dialect == "openai_chat"
    assert "small" in record.outcome.reason
    assert record.outcome.attempts >= 2
    assert record.outcome.answered_by is None
    assert len(record.decision.steps) == 2


@pytest.mark.parametrize("failing", [False, True])
async def test_no_prompt_no_answer_and_no_key_is_in_the_log(
    failing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = json_reply({"error": {"message": f"Bearer {UPSTREAM_KEY} said: {PROMPT}"}}, 500)
    key = next(iter(KEYS))
    async with asked(tmp_path, monkeypatch, *([echo] if failing else [])) as (_, client):
        await chat(client)
        await chat(client, stream=True)
        del client.headers["authorization"]
        client.headers["x-api-key"] = key
        answer = await chat(client, model=UPSTREAM_KEY)
        told = {"request_id": answer.headers["x-turnout-request-id"], "comment": f"{PROMPT}, {key}"}
        assert (await client.post("/v1/feedback", json=told)).status_code == 202

    text = "".join(path.read_text() for path in sorted((tmp_path / "log").rglob("*")) if path.is_file())

    decided, said = split(list(read_log(tmp_path / "log")))
    assert (len(decided), len(said)) == (3, 1)
    assert '"x-api-key":"***"' in text
    for canary in (*KEYS, UPSTREAM_KEY, *PROMPT.split(" that "), *ANSWER.split(" that ")):
        assert canary not in text, canary


async def test_asking_again_is_a_signal_about_the_answer_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asked(tmp_path, monkeypatch) as (_, client):
        first = (await chat(client)).headers["x-turnout-request-id"]
        second = (await chat(client, temperature=0.5)).headers["x-turnout-request-id"]
        await chat(client, messages=[{"role": "user", "content": "something else"}])
        client.headers["authorization"] = f"Bearer {list(KEYS)[1]}"
        await chat(client)

    (found,) = signals(tmp_path)
    shown = await command("decisions", str(tmp_path / "log"), "--json")

    assert (found.signal, found.version, found.request_id, found.by) == ("regenerated", 1, first, second)
    assert found.tenant == "acme"
    assert found.after_s is not None
    assert 0 <= found.after_s < 60
    assert json.loads(shown.stdout)["signals"] == {"regenerated": 1}


async def test_asking_again_after_an_error_is_another_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asked(tmp_path, monkeypatch, json_reply({"error": {"message": "no"}}, 500)) as (_, client):
        first = (await chat(client)).headers["x-turnout-request-id"]
        await chat(client)

    assert [(one.signal, one.request_id) for one in signals(tmp_path)] == [("retried", first)]


@pytest.mark.parametrize(
    "case",
    [
        ("no JSON at all", {"type": "json_object"}, ["misshapen"]),
        ('{"a": 1}', {"type": "json_object"}, []),
        ("no JSON at all", None, []),
        (
            '{"a": 1}',
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {"required": ["b"]}}},
            ["misshapen"],
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_of_another_form_than_was_asked_for_is_a_signal(
    case: tuple[str, object, list[str]], stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, form, told = case
    async with asked(tmp_path, monkeypatch, chat_either(said)) as (_, client):
        answer = await chat(client, stream=stream, **({"response_format": form} if form else {}))

    found = signals(tmp_path)
    assert [one.signal for one in found] == told
    assert all(one.request_id == one.by == answer.headers["x-turnout-request-id"] for one in found)


async def test_feedback_is_kept_for_the_tenant_that_gave_it_and_a_comment_as_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asked(tmp_path, monkeypatch) as (_, client):
        request_id = (await chat(client)).headers["x-turnout-request-id"]
        told = {"request_id": request_id, "rating": "bad", "score": 0.25, "corrected": True, "comment": "not so"}
        mine = await client.post("/v1/feedback", json=told)
        client.headers["authorization"] = f"Bearer {list(KEYS)[1]}"
        theirs = await client.post("/v1/feedback", json={"request_id": request_id, "rating": "good"})

    _, said = split(list(read_log(tmp_path / "log")))
    shown = await command("decisions", str(tmp_path / "log"), "--json")

    assert mine.status_code == theirs.status_code == 202
    assert [(r.tenant, r.rating, r.score, r.corrected, r.comment_chars) for r in said] == [
        ("acme", "bad", 0.25, True, 6),
        ("other", "good", None, None, 0),
    ]
    assert json.loads(shown.stdout)["by_model"]["small"]["bad"] == 1
    assert json.loads(shown.stdout)["by_model"]["small"]["good"] == 0
    assert json.loads(shown.stdout)["stray"] == 1


@pytest.mark.parametrize(
    ("told", "param"),
    [
        ({"request_id": "req_1", "rating": "good"}, "request_id"),
        ({"request_id": "req_" + "0" * 24, "rating": "meh"}, "rating"),
        ({"request_id": "req_" + "0" * 24, "score": 1.5}, "score"),
        ({"request_id": "req_" + "0" * 24}, None),
        ({"rating": "good"}, None),
        ({"request_id": "req_" + "0" * 24, "rating": "good", "prompt": "text"}, None),
        ([], None),
    ],
)
async def test_feedback_that_makes_no_sense_is_refused_by_field(
    told: object, param: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asked(tmp_path, monkeypatch) as (_, client):
        answer = await client.post("/v1/feedback", json=told)

    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


async def test_feedback_says_what_becomes_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asked(tmp_path, monkeypatch) as (_, client):
        request_id = (await chat(client)).headers["x-turnout-request-id"]
        words = [
            {"rating": "good"},
            {"rating": "good"},
            {"score": 0.25, "correction": ANSWER},
            {"request_id": "req_" + "0" * 24, "rating": "bad"},
        ]
        answers = [await client.post("/v1/feedback", json={"request_id": request_id, **told}) for told in words]

    _, said = split(list(read_log(tmp_path / "log")))

    assert [a.json()["status"] for a in answers] == ["accepted", "unchanged", "replaced", "unverified"]
    assert [(r.rating, r.score, r.corrected, r.correction_chars) for r in said] == [
        ("good", None, None, 0),
        (None, 0.25, True, len(ANSWER)),
        ("bad", None, None, 0),
    ]


async def test_a_key_that_says_too_much_is_told_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"request_id": "req_" + "0" * 24, "rating": "good"}
    async with asked(tmp_path, monkeypatch, feedback_per_minute=1) as (_, client):
        first = await client.post("/v1/feedback", json=told)
        refused = await client.post("/v1/feedback", json=told)
        client.headers["authorization"] = f"Bearer {list(KEYS)[1]}"
        other = await client.post("/v1/feedback", json=told)

    assert first.status_code == 202
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "rate_limited"
    assert int(refused.headers["retry-after"]) >= 1
    assert other.status_code == 202


async def test_feedback_needs_a_key_and_a_log(tmp_path: Path) -> None:
    told = {"request_id": "req_" + "0" * 24, "rating": "good"}
    async with fake_upstream(chat_either(ANSWER)) as upstream:
        text = f"policy: 1\nmodels: {{m: {{at: '{upstream.base}/v1'}}}}\nroutes: [{{use: m}}]\n"
        async with (
            running_gateway(text, tmp_path, keys_file=with_keys(tmp_path)) as gateway,
            httpx.AsyncClient(base_url=gateway.base, timeout=20) as client,
        ):
            without = await client.post("/v1/feedback", json=told)
            client.headers["x-api-key"] = next(iter(KEYS))
            nowhere = await client.post("/v1/feedback", json=told)

    assert without.status_code == 401
    assert nowhere.status_code == 404
    assert "TURNOUT_DECISIONS__DIR" in nowhere.text


async def test_the_command_replays_and_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asked(tmp_path, monkeypatch) as (gateway, client):
        for _ in range(3):
            await chat(client)
        other = tmp_path / "other.yaml"
        other.write_text(gateway.policy.read_text().replace("use: small", "use: large"))
    log = str(tmp_path / "log")

    again = await command("replay", log)
    compared = await command("replay", log, "--policy", str(other), "--json")
    table = await command("replay", log, "--policy", str(other))
    nothing = await command("replay", str(tmp_path / "log" / "policies"))

    assert again.exit_code == 0, again.output
    assert "3 decisions were made again; 0 came out differently" in again.stderr
    found = json.loads(compared.stdout)
    assert found["flips"] == [{"before": "small", "after": "large", "decisions": 3}]
    assert found["after_microusd"] == pytest.approx(5 * found["before_microusd"])
    assert "(+400.0%)" in table.stderr
    assert "cost: not estimated" in table.stderr
    assert nothing.exit_code == 2
    assert "holds no segment" in nothing.stderr


async def test_a_log_that_does_not_come_out_again_ends_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asked(tmp_path, monkeypatch) as (_, client):
        await chat(client)
    (segment,) = (tmp_path / "log").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"small: route", b"small, route"))

    done = await command("replay", str(tmp_path / "log"))

    assert done.exit_code == 1
    assert "1 came out differently" in done.stderr

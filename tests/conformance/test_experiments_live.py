"""Experiments over sockets: who gets what, what is said of it, and that a bad variant ends by itself."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import Result
from servers.running_gateway import RunningGateway, running_gateway
from typer.testing import CliRunner
from upstreams.fake_upstream import Received, Reply, chat_either, fake_upstream, json_reply

from gateway.cli import app
from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord
from gateway.decisions.replay import policies_beside, replay
from gateway.settings import Decisions, Experiments, Telemetry

ANSWER = chat_either("fine")


def upstream(failing: Callable[[str], bool]) -> Callable[[Received], Reply]:
    """Answers, but to models whose name there is failing."""

    def reply(received: Received) -> Reply:
        model = json.loads(received.body)["model"]
        return json_reply({"error": {"message": "broken"}}, 500) if failing(model) else ANSWER(received)

    return reply


def policy_text(base: str, **changes: str) -> str:
    told = {
        "unit": "request",
        "weights": "{control: {weight: 50}, treat: {weight: 50, set: {models.m.serves: second}}}",
    }
    told |= {"decide": "{then: ask}", "watch": "[errors]", "more": ""} | changes
    return f"""
policy: 1
models:
  m: {{at: '{base}/v1', serves: first, price: {{input: $1/M, output: $4/M}}}}
routes:
  - {{name: default, use: m}}
resilience: {{attempts: 1}}
guardrails:
  errors: {{metric: error_rate, worse_by: 2pp, alpha: 1%}}
experiments:
  - name: second
    unit: {told["unit"]}
    variants: {told["weights"]}
    measure: {{primary: {{metric: task_success}}, also: [error_rate, ttft.p95, cost_per_request]}}
    decide: {told["decide"]}
    watch: {told["watch"]}
{told["more"]}
"""


@asynccontextmanager
async def asked(
    folder: Path,
    failing: Callable[[str], bool] = lambda _: False,
    policy: dict[str, str] | None = None,
    **settings: Any,
) -> AsyncIterator[tuple[RunningGateway, httpx.AsyncClient, Any]]:
    async with fake_upstream(upstream(failing)) as server:
        chosen = {"experiments": Experiments(dir=folder / "experiments"), **settings}
        async with (
            running_gateway(policy_text(server.base, **(policy or {})), folder, **chosen) as gateway,
            httpx.AsyncClient(base_url=gateway.base, timeout=20) as client,
        ):
            yield gateway, client, server


async def chat(
    client: httpx.AsyncClient, text: str = "hi", headers: dict[str, str] | None = None, **body: Any
) -> httpx.Response:
    asking = {"model": "auto", "messages": [{"role": "user", "content": text}], **body}
    return await client.post("/v1/chat/completions", json=asking, headers=headers)


def variant(answer: httpx.Response) -> str:
    return answer.headers["x-turnout-experiment"].partition("=")[2]


async def command(*words: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, list(words))


async def test_a_variant_is_answered_by_what_it_sets_and_the_header_says_so(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, client, server):
        answers = [await chat(client) for _ in range(24)]
        models = [json.loads(received.body)["model"] for received in server.received]

    assert {variant(answer) for answer in answers} == {"control", "treat"}
    assert [variant(answer) for answer in answers] == [{"first": "control", "second": "treat"}[m] for m in models]
    assert all(answer.json()["model"] == "m" for answer in answers)


async def test_a_user_keeps_a_variant_and_one_without_a_name_takes_no_part(tmp_path: Path) -> None:
    async with asked(tmp_path, policy={"unit": "user"}) as (gateway, client, _):
        seen = {user: {variant(await chat(client, user=f"u{user}")) for _ in range(3)} for user in range(12)}
        nobody = await chat(client)
        await gateway.until(
            lambda g: "second" in g.experiments.chapters and g.experiments.chapters["second"].without_unit == 1
        )

    assert all(len(found) == 1 for found in seen.values())
    assert {next(iter(found)) for found in seen.values()} == {"control", "treat"}
    assert "x-turnout-experiment" not in nobody.headers


async def test_all_turns_of_a_conversation_have_one_variant(tmp_path: Path) -> None:
    async with asked(tmp_path, policy={"unit": "conversation"}) as (_, client, _):
        for number in range(8):
            first = {"role": "user", "content": f"question {number}"}
            later = [first, {"role": "assistant", "content": "fine"}, {"role": "user", "content": "and then?"}]
            found = {variant(await chat(client, messages=messages)) for messages in ([first], later)}
            named = {variant(await chat(client, f"{number}{i}", {"x-conversation-id": f"c{number}"})) for i in range(2)}

            assert len(found) == len(named) == 1


async def test_a_bad_variant_is_rolled_back_and_stays_so_after_a_restart(tmp_path: Path) -> None:
    async with asked(tmp_path, lambda model: model == "second") as (gateway, client, _):
        for _ in range(200):
            await chat(client)
            await gateway.until(lambda g: not g.experiments.waiting)
            if gateway.gateway.experiments.forced:
                break
        after = [await chat(client) for _ in range(10)]
        treated = gateway.gateway.experiments.chapters["second"].trial.requests["treat"]
        told = gateway.gateway.experiments.chapters["second"].standing

    assert treated <= 40
    assert (told.state, told.variant) == ("stopped", "control")
    assert "breaks the guardrail errors" in told.why
    assert [(answer.status_code, variant(answer)) for answer in after] == [(200, "control")] * 10

    async with asked(tmp_path, lambda model: model == "second") as (_, client, _):
        assert {variant(await chat(client)) for _ in range(10)} == {"control"}


async def test_evidence_goes_on_after_a_restart_and_over_other_weights_and_begins_afresh_with_another_salt(
    tmp_path: Path,
) -> None:
    counts = []
    ramped = "{control: {weight: 90}, treat: {weight: 10, set: {models.m.serves: second}}}"
    for policy in ({}, {}, {"weights": ramped}, {"more": "    salt: another"}):
        async with asked(tmp_path, policy=policy) as (gateway, client, _):
            for _ in range(6):
                await chat(client)
            await gateway.until(lambda g: "second" in g.experiments.chapters and not g.experiments.waiting)
            await gateway.until(lambda g: sum(g.experiments.chapters["second"].trial.requests.values()) % 6 == 0)
            counts.append(sum(gateway.gateway.experiments.chapters["second"].trial.requests.values()))

    assert counts == [6, 12, 18, 6]


async def test_what_a_caller_says_counts_once_for_the_variant_that_it_is_of(tmp_path: Path) -> None:
    async with asked(tmp_path) as (gateway, client, _):
        answers = [await chat(client) for _ in range(20)]
        for answer in answers:
            told = {
                "request_id": answer.headers["x-turnout-request-id"],
                "rating": "good" if variant(answer) == "treat" else "bad",
            }
            for _ in range(2):
                assert (await client.post("/v1/feedback", json=told)).status_code == 202
        await client.post("/v1/feedback", json={"request_id": "req_" + "0" * 24, "rating": "good"})

        def sides() -> Any:
            return gateway.gateway.experiments.chapters["second"].trial.metrics["treat/task_success"].scores

        await gateway.until(lambda _: sides().treat.count + sides().control.count == 20)
        found = sides()

    assert (found.treat.total, found.control.total) == (found.treat.count, 0.0)


async def test_a_decision_is_kept_with_its_variant_and_decides_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with asked(tmp_path, decisions=Decisions(dir=log), policy={"unit": "user"}) as (_, client, _):
        answers = [await chat(client, user=f"u{number}") for number in range(12)]

    kept = [record for record in read_log(log) if isinstance(record, DecisionRecord)]
    found = replay(read_log(log), policies_beside(log))

    assert [record.decision.assignments[0].variant for record in kept] == [variant(answer) for answer in answers]
    assert {record.decision.assignments[0].propensity for record in kept} == {0.5}
    assert "u1" not in {record.facts.units["user"] for record in kept}
    assert (found.replayed, found.differ) == (12, ())


async def test_a_person_reads_how_it_stands_and_ends_it(tmp_path: Path) -> None:
    folder = ("--dir", str(tmp_path / "experiments"))
    async with asked(tmp_path) as (gateway, client, _):
        for _ in range(12):
            await chat(client)
        await gateway.until(lambda _: (tmp_path / "experiments" / "second.json").exists(), within_s=10)
        promoted = await command(
            "experiment", "promote", "second", "--variant", "treat", *folder, "--policy", str(gateway.policy)
        )
        await gateway.until(lambda g: g.experiments.forced == {"second": "treat"}, within_s=10)
        after = {variant(await chat(client)) for _ in range(8)}
        stopped = await command("experiment", "stop", "second", *folder)
        await gateway.until(lambda g: g.experiments.forced == {"second": "control"}, within_s=10)
        route = (
            await client.post("/v1/route", json={"model": "auto", "messages": [{"role": "user", "content": "x"}]})
        ).json()

    shown, told = (
        await command("experiment", "status", *folder),
        await command("experiment", "status", "--json", *folder),
    )

    assert promoted.exit_code == stopped.exit_code == shown.exit_code == 0, (
        promoted.output + stopped.output + shown.output
    )
    assert 'models.m.serves: "second"' in promoted.stdout
    assert after == {"treat"}
    assert route["decision"]["assignments"][0]["variant"] == "control"
    assert "second is stopped, everybody gets control: stopped by a person" in shown.stdout
    (found,) = json.loads(told.stdout)
    assert (found["state"], sum(found["requests"].values())) == ("stopped", 12)
    assert [metric["metric"] for metric in found["verdict"]["findings"]] == [
        "task_success",
        "error_rate",
        "ttft.p95",
        "cost_per_request",
    ]


async def test_a_ramp_is_ordered_keeps_who_was_treated_and_decides_again_from_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    weights = "{control: {weight: 80}, treat: {weight: 20, set: {models.m.serves: second}}}"
    async with asked(tmp_path, decisions=Decisions(dir=log), policy={"unit": "user", "weights": weights}) as (
        gateway,
        client,
        _,
    ):
        before = {user: variant(await chat(client, user=f"u{user}")) for user in range(16)}
        folder = ("--dir", str(tmp_path / "experiments"))
        await gateway.until(lambda _: (tmp_path / "experiments" / "second.json").exists(), within_s=10)
        bad = await command("experiment", "ramp", "second", "control=1", *folder)
        done = await command("experiment", "ramp", "second", "control=10,treat=90", *folder)
        await gateway.until(lambda g: bool(g.experiments.ramps), within_s=10)
        after = {user: variant(await chat(client, user=f"u{user}")) for user in range(16)}

    found = replay(read_log(log), policies_beside(log))

    assert (bad.exit_code, done.exit_code) == (2, 0)
    assert not [user for user in before if before[user] == "treat" != after[user]]
    assert list(after.values()).count("treat") > list(before.values()).count("treat")
    assert (found.replayed, found.differ) == (32, ())


@pytest.mark.parametrize("words", [("status",), ("stop", "other"), ("promote", "other"), ("promote", "second")])
async def test_what_is_not_there_is_told(words: tuple[str, ...], tmp_path: Path) -> None:
    missing = await command("experiment", *words, "--dir", str(tmp_path / "nothing"))

    assert missing.exit_code == 2
    assert "name the folder" in missing.output


async def test_metrics_count_variants_and_no_unit_is_a_label(tmp_path: Path) -> None:
    async with asked(tmp_path, policy={"unit": "user"}, telemetry=Telemetry(log="off", metrics=True)) as (_, client, _):
        for number in range(20):
            await chat(client, user=f"somebody-{number}")
        page = (await client.get("/metrics")).text

    lines = [line for line in page.splitlines() if line.startswith("router_experiment_requests_total{")]
    counted = {line.partition('router_variant="')[2].partition('"')[0] for line in lines if not line.endswith(" 0.0")}
    assert counted == {"control", "treat"}
    assert "somebody" not in page


async def test_a_reload_that_ramps_keeps_who_was_treated(tmp_path: Path) -> None:
    async with asked(tmp_path, policy={"unit": "user"}) as (gateway, client, server):
        before = {user: variant(await chat(client, user=f"u{user}")) for user in range(20)}
        ramped = "{control: {weight: 20}, treat: {weight: 80, set: {models.m.serves: second}}}"
        gateway.policy.write_text(policy_text(server.base, unit="user", weights=ramped))
        await gateway.reloader.reload()
        after = {user: variant(await chat(client, user=f"u{user}")) for user in range(20)}
        await gateway.until_empty()

    assert gateway.gateway.last_problem == ""
    assert [user for user in before if before[user] == "treat" != after[user]] == []
    assert sum(found == "treat" for found in after.values()) >= sum(found == "treat" for found in before.values())

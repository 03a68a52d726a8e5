"""A rollout over sockets: a bad change is taken back by itself, streams under way finish, and a person's word counts."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from click.testing import Result
from servers.running_gateway import RunningGateway, running_gateway
from typer.testing import CliRunner
from upstreams.fake_upstream import (
    DONE,
    Received,
    Reply,
    Until,
    chat_either,
    fake_upstream,
    finish_chunk,
    json_reply,
    sse_reply,
    text_chunk,
)

from gateway.cli import app
from gateway.control.admin_server import AdminServer, open_admin
from gateway.decisions.read import read_log
from gateway.decisions.replay import policies_beside, replay
from gateway.settings import Admin, Decisions, Experiments

ANSWER = chat_either("fine")

STEPS = "[{traffic: 50%, for: 1h}, {approve: oncall}, {traffic: 100%, for: 1h}]"

KEY = "let-me-in"
KEY_HASH = hashlib.sha256(KEY.encode()).hexdigest()
KEYED = {"authorization": f"Bearer {KEY}"}


def policy_text(base: str, steps: str = STEPS) -> str:
    return f"""
policy: 1
models:
  m: {{at: '{base}/v1', serves: first}}
routes:
  - {{name: default, use: m}}
resilience: {{attempts: 1}}
guardrails:
  errors: {{metric: error_rate, worse_by: 1pp}}
experiments:
  - name: other
    unit: request
    variants: {{control: {{weight: 1}}, same: {{weight: 1}}}}
rollouts:
  - name: next
    unit: request
    change: {{models.m.serves: second}}
    steps: {steps}
    watch: [errors]
"""


@asynccontextmanager
async def asked(
    folder: Path, reply: Callable[[Received], Reply] = ANSWER, steps: str = STEPS, **settings: Any
) -> AsyncIterator[tuple[RunningGateway, httpx.AsyncClient]]:
    async with fake_upstream(reply) as server:
        chosen = {"experiments": Experiments(dir=folder / "kept"), **settings}
        async with (
            running_gateway(policy_text(server.base, steps), folder, **chosen) as gateway,
            httpx.AsyncClient(base_url=gateway.base, timeout=20) as client,
        ):
            yield gateway, client


@asynccontextmanager
async def admin_of(gateway: RunningGateway) -> AsyncIterator[httpx.AsyncClient]:
    """A client of its admin API, with the key."""
    settings = gateway.gateway.settings.model_copy(update={"admin": Admin(port=0, key_hash=KEY_HASH)})
    server = open_admin(gateway.gateway, settings)
    assert isinstance(server, AdminServer)
    serving = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(20):
            while not server.started:  # noqa: ASYNC110  the server does not announce it
                await asyncio.sleep(0.005)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", headers=KEYED, timeout=20) as client:
            yield client
    finally:
        server.should_exit = True
        await serving


async def chat(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    asking = {"model": "auto", "messages": [{"role": "user", "content": "hi"}], **body}
    return await client.post("/v1/chat/completions", json=asking)


def variants(answer: httpx.Response) -> dict[str, str]:
    told = answer.headers.get("x-turnout-experiment", "").replace(" ", "").split(",")
    return dict(part.split("=") for part in told if part)


async def command(*words: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, list(words))


async def test_a_bad_canary_is_taken_back_and_the_streams_that_it_has_begun_finish(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    def reply(received: Received) -> Reply:
        if received.json.get("stream"):
            return sse_reply(text_chunk("one "), Until(go_on), text_chunk("two"), finish_chunk(), DONE)
        if received.json["model"] == "second":
            return json_reply({"error": {"message": "broken"}}, 500)
        return ANSWER(received)

    async def streamed(client: httpx.AsyncClient) -> tuple[str, str]:
        asking = {"model": "auto", "messages": [{"role": "user", "content": "hi"}], "stream": True}
        async with client.stream("POST", "/v1/chat/completions", json=asking) as answer:
            variant = variants(answer)["next"]
            return variant, (await answer.aread()).decode()

    async with asked(tmp_path, reply) as (gateway, client):
        streams = [asyncio.create_task(streamed(client)) for _ in range(12)]
        await gateway.until(lambda g: g.door.in_flight == 12)
        for _ in range(200):
            await chat(client)
            await gateway.until(lambda g: not g.experiments.waiting)
            if gateway.gateway.experiments.forced:
                break
        after = [await chat(client) for _ in range(10)]
        go_on.set()
        ends = await asyncio.gather(*streams)
        found = gateway.gateway.experiments.chapters["next"]
        shown = await command("rollout", "status", "--dir", str(tmp_path / "kept"), "--json")

    assert found.standing.state == "stopped"
    assert found.trial.requests["canary"] <= 40 + 12
    assert {variants(answer)["next"] for answer in after} == {"control"}
    assert {answer.status_code for answer in after} == {200}
    assert {"canary", "control"} == {variant for variant, _ in ends}
    assert all("two" in text and text.rstrip().endswith("[DONE]") and "error" not in text for _, text in ends)
    (told,) = json.loads(shown.stdout)
    assert (told["state"], told["share"]) == ("rolled_back", 0.0)
    assert "breaks the guardrail errors" in told["words"]


async def test_a_person_approves_aborts_and_resumes_at_the_terminal(tmp_path: Path) -> None:
    folder = ("--dir", str(tmp_path / "kept"))
    kept = tmp_path / "kept" / "next.json"
    async with asked(tmp_path, steps="[{approve: oncall}, {traffic: 100%, for: 1h}]") as (gateway, client):
        nobody = [variants(await chat(client)) for _ in range(6)]
        await gateway.until(lambda _: kept.exists(), within_s=10)
        early = await command("rollout", "resume", "next", *folder)
        approved = await command("rollout", "approve", "next", *folder)
        await gateway.until(lambda g: bool(g.experiments.ramps), within_s=10)
        everybody = [variants(await chat(client)) for _ in range(6)]
        await gateway.until(lambda _: json.loads(kept.read_text())["standing"]["state"] == "running", within_s=10)
        aborted = await command("rollout", "abort", "next", *folder)
        await gateway.until(lambda g: g.experiments.forced == {"next": "control"}, within_s=10)
        await gateway.until(lambda _: json.loads(kept.read_text())["standing"]["state"] == "stopped", within_s=10)
        resumed = await command("rollout", "resume", "next", *folder)
        await gateway.until(lambda _: json.loads(kept.read_text())["standing"]["state"] == "waiting", within_s=10)
        shown = await command("rollout", "status", *folder)
        wrong = await command("experiment", "stop", "next", *folder)
        others = await command("experiment", "status", *folder)

    assert all("next" not in found for found in nobody)
    assert [found["next"] for found in everybody].count("canary") >= 4
    assert (early.exit_code, approved.exit_code, aborted.exit_code, resumed.exit_code) == (2, 0, 0, 0)
    assert "next goes on already: at step 1 of 2, 0% of the units have the change; it waits for oncall" in early.output
    assert "it waits for oncall" in shown.stdout
    assert wrong.exit_code == 2
    assert "turnout rollout" in wrong.output
    assert "next" not in others.stdout


async def test_the_admin_api_tells_and_obeys(tmp_path: Path) -> None:
    async with asked(tmp_path, steps="[{approve: oncall}, {traffic: 50%, for: 1h}]") as (gateway, client):
        await gateway.until(lambda g: "next" in g.experiments.chapters)
        async with admin_of(gateway) as admin:
            rollouts = (await admin.get("/admin/rollouts")).json()["rollouts"]
            experiments = (await admin.get("/admin/experiments")).json()["experiments"]
            one = (await admin.get("/admin/rollouts/next")).json()
            approved = await admin.post("/admin/rollouts/next/approve")
            again = await admin.post("/admin/rollouts/next/approve")
            seen = {variants(await chat(client)).get("next") for _ in range(24)}
            aborted = await admin.post("/admin/rollouts/next/abort")
            after = {variants(await chat(client)).get("next") for _ in range(8)}
            resumed = await admin.post("/admin/rollouts/next/resume")
            undecided = await admin.post("/admin/experiments/other/promote")
            promoted = await admin.post("/admin/experiments/other/promote", json={"variant": "same"})
            stopped = await admin.post("/admin/experiments/other/stop")

    assert [found["rollout"] for found in rollouts] == ["next"]
    assert [found["experiment"] for found in experiments] == ["other"]
    assert (one["state"], one["step"], one["steps"], one["share"]) == ("waiting", 1, 2, 0.0)
    assert (approved.status_code, approved.json()["state"], approved.json()["share"]) == (200, "running", 0.5)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")
    assert "next waits for nobody: at step 2 of 2, 50% of the units" in again.json()["error"]["message"]
    assert seen == {"canary", "control"}
    assert aborted.json()["words"] == "rolled back, nobody has the change: aborted by a person"
    assert after == {"control"}
    assert (resumed.json()["state"], resumed.json()["rounds"]) == ("waiting", 1)
    assert undecided.status_code == 409
    assert "There is no winner" in undecided.json()["error"]["message"]
    assert (promoted.json()["state"], promoted.json()["variant"]) == ("promoted", "same")
    assert stopped.json()["state"] == "stopped"


BAD_KEYS: list[dict[str, str]] = [
    {"authorization": ""},
    {"authorization": "Bearer wrong"},
    {"authorization": f"Bearer {KEY} "[:-2]},
    {"authorization": f"Basic {KEY}"},
    {"authorization": f"Bearer {KEY_HASH}"},
]


async def test_without_the_key_nothing_is_told_not_even_what_there_is(tmp_path: Path) -> None:
    async with asked(tmp_path) as (gateway, client):
        async with admin_of(gateway) as admin:
            for headers in BAD_KEYS:
                for method, path in (("GET", "/admin/rollouts"), ("POST", "/admin/rollouts/next/abort"), ("GET", "/x")):
                    refused = await admin.request(method, path, headers=headers)
                    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "admin_key_refused")
                    assert "next" not in refused.text
        elsewhere = await client.get("/admin/rollouts", headers=KEYED)

    assert elsewhere.status_code == 404
    assert gateway.gateway.experiments.forced == {}


MISTAKES: list[tuple[str, str, bytes | None, int, str]] = [
    ("GET", "/admin/rollouts/nxt", None, 404, "among the rollouts of this policy, which are: next"),
    ("GET", "/admin/rollouts/other", None, 404, "which are: next"),
    ("GET", "/admin/else", None, 404, "ask /admin/experiments or /admin/rollouts"),
    ("GET", "/", None, 404, "ask /admin/experiments"),
    ("POST", "/admin/rollouts/next/promote", None, 404, "POST /admin/rollouts/NAME/approve"),
    ("POST", "/admin/rollouts/next", None, 404, "POST /admin/rollouts/NAME/approve"),
    ("PUT", "/admin/rollouts/next", None, 405, "Use GET, POST here"),
    ("POST", "/admin/rollouts/next/abort", b"{", 400, "The body can say which variant is promoted"),
    ("POST", "/admin/rollouts/next/abort", b'{"who": "me"}', 400, "unknown field"),
    ("POST", "/admin/rollouts/next/abort", b'{"variant": "canary"}', 400, "Only promote takes a variant"),
    ("POST", "/admin/experiments/other/promote", b'{"variant": "x"}', 400, "it has: control, same"),
    ("POST", "/admin/experiments/other/promote", b" " * 5_000, 413, "limit of 4096 bytes"),
    ("POST", "/admin/experiments/other/promote", b"[" * 4_000, 400, "nests deeper"),
]


async def test_a_mistake_at_the_admin_api_says_what_to_do(tmp_path: Path) -> None:
    async with asked(tmp_path) as (gateway, _):
        await gateway.until(lambda g: "next" in g.experiments.chapters)
        async with admin_of(gateway) as admin:
            for method, path, body, status, words in MISTAKES:
                found = await admin.request(method, path, content=body)

                assert (found.status_code, words in found.json()["error"]["message"]) == (status, True), found.text
                assert KEY not in found.text
                assert KEY_HASH not in found.text


async def test_a_decision_of_any_step_decides_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with asked(tmp_path, decisions=Decisions(dir=log)) as (gateway, client):
        await gateway.until(lambda g: bool(g.experiments.ramps))
        answers = [variants(await chat(client)).get("next") for _ in range(12)]

    found = replay(read_log(log), policies_beside(log))
    assert {"canary", "control"} <= set(answers)
    assert (found.replayed, found.differ) == (12, ())

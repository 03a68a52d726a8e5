"""Budgets over real sockets: who is turned away and in which words, and that nothing stays set aside whatever happened."""

import asyncio
import hashlib
import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from faults.ways_to_ask import WAYS, Way
from servers.plain_client import connected, head
from servers.redis_servers import RedisServer, running
from servers.running_gateway import RunningGateway, running_gateway
from traces.scenarios import REFUSES
from upstreams.fake_upstream import (
    FakeUpstream,
    Until,
    chat_either,
    fake_upstream,
    json_reply,
    sse_reply,
    text_chunk,
    unused_port,
)

from gateway.budgets.accounts import Whose, digest
from gateway.budgets.ledger import Ask
from gateway.request.identity import ANONYMOUS
from gateway.settings import Decisions
from policies.budgets.need import Use

ONE = "policy: 1\nmodels: {{m: {{at: '{a}/v1', {priced}}}}}\nroutes: [{{name: r, use: m}}]\nbudgets: [{budgets}]\n"
HI: list[Any] = [{"role": "user", "content": "hi"}]
BODY = {"model": "auto", "messages": HI, "max_tokens": 3}
COST = 7 + 3 * 4
"""Micro-dollars of what the fake upstream says that it used."""
ASIDE = 17 + 3 * 4
"""What BODY may come to."""
BROKEN = json_reply({"error": {"message": "broken"}}, 500)


def one(upstream: FakeUpstream, *budgets: str) -> str:
    at, priced = upstream.base, "price: {input: $1/M, output: $4/M}"
    return ONE.format(a=at, priced=priced, budgets=", ".join(budgets))


async def left(gateway: RunningGateway) -> Mapping[str, int | None]:
    """What the accounts of everybody who asks without a key have."""
    tenants = digest(ANONYMOUS, "tenant")
    budgets = gateway.gateway.live.policy.budgets
    asks = [Ask(b, Whose("all" if b.per == "all" else tenants, tenants), Use(), False) for b in budgets]
    return await gateway.gateway.budgets.look(asks)


async def chat(gateway: RunningGateway, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
    async with httpx.AsyncClient(timeout=20, verify=False) as client:
        asked = {**BODY, **body}
        return await client.post(f"{gateway.base}/v1/chat/completions", json=asked, headers=headers or {})


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_every_dialect_says_which_budget_is_spent_and_when_to_ask_again(way: Way, tmp_path: Path) -> None:
    async with fake_upstream(chat_either("ok")) as upstream:
        policy = one(upstream, "{per: tenant, limit: 1/day}").replace("price:", "can: [embeddings, tools], price:")
        async with running_gateway(policy, tmp_path) as gateway, httpx.AsyncClient() as client:
            refused = await client.post(f"{gateway.base}{way.path}", json={**way.body, "model": "m"})

    told, message = refused.json(), "budget tenant-day (1/day for each tenant)"
    assert refused.status_code == 429
    assert told["error"]["type"] == "rate_limit_error"
    assert message in told["error"]["message"].lower().replace("api key", "API key")
    assert told.get("type", "error") == "error"
    assert refused.headers["x-should-retry"] == "false", "it never has as much at once"
    assert "retry-after" not in refused.headers
    assert not upstream.received


async def test_a_day_says_when_it_ends_and_a_minute_in_how_many_seconds(tmp_path: Path) -> None:
    async with fake_upstream(chat_either("ok")) as upstream:
        async with running_gateway(one(upstream, f"{{per: tenant, limit: $0.0000{ASIDE}/day}}"), tmp_path) as gateway:
            first, day = await chat(gateway), await chat(gateway)
        async with running_gateway(one(upstream, "{per: tenant, limit: 25/min}"), tmp_path) as gateway:
            minute = [await chat(gateway) for _ in range(2)][1]

    assert first.status_code == 200
    assert day.json()["error"]["code"] == "over_budget"
    assert "is whole again at 20" in day.json()["error"]["message"]
    assert 0 < int(day.headers["retry-after"]) <= 86_400
    assert day.headers["x-turnout-reason"].startswith("budget tenant-day")
    assert minute.status_code == 429
    assert 5 <= int(minute.headers["retry-after"]) <= 20, "ten tokens are taken of which two a second come back"
    assert "x-should-retry" not in minute.headers


async def test_many_at_once_never_spend_more_than_the_limit(tmp_path: Path) -> None:
    limit = 10 * ASIDE + 5
    async with fake_upstream(chat_either("ok")) as upstream:
        policy = one(upstream, f"{{per: all, limit: ${limit / 1e6:.6f}/day}}")
        async with running_gateway(policy, tmp_path) as gateway, httpx.AsyncClient(timeout=20) as client:
            for _ in range(4):
                asked = [client.post(f"{gateway.base}/v1/chat/completions", json=BODY) for _ in range(30)]
                answers = await asyncio.gather(*asked)
                assert {answer.status_code for answer in answers} <= {200, 429}
            rest = await left(gateway)

            assert (await chat(gateway)).status_code == 429
            page = gateway.gateway.observer.metrics_page().decode()

    spent = COST * len(upstream.received)
    assert f'router_budget_taken_percent{{router_budget="all-day"}} {100 * spent / limit}' in page
    assert spent <= limit
    assert limit - spent < ASIDE, "nobody was turned away for whom there was room in the end"
    assert rest == {"all-day": limit - spent}


async def test_what_failed_takes_nothing_and_who_answered_instead_is_paid(tmp_path: Path) -> None:
    text = """
policy: 1
models:
  small: {at: "GONE/v1", price: {input: $1/M, output: $1/M}}
  large: {at: "A/v1", price: {input: $100/M, output: $100/M}}
routes: [{name: r, use: small, fallback: [large]}]
budgets: [{per: all, limit: $1/day}]
"""
    async with fake_upstream(chat_either("ok"), BROKEN) as upstream:
        policy = text.replace("A/v1", f"{upstream.base}/v1").replace("GONE", f"http://127.0.0.1:{unused_port()}")
        async with running_gateway(policy, tmp_path) as gateway:
            assert (await chat(gateway)).headers["x-turnout-model"] == "large"
            after_one = await left(gateway)
            assert (await chat(gateway)).status_code == 500
            after_two = await left(gateway)

    assert after_one == {"all-day": 1_000_000 - 1_000}
    assert after_two == after_one


async def test_an_escalated_answer_is_charged_with_the_one_that_was_given_up(tmp_path: Path) -> None:
    text = """
policy: 1
models:
  small: {at: "A/v1", can: [logprobs], price: {input: $1/M, output: $1/M}}
  large: {at: "B/v1", price: {input: $1/M, output: $1/M}}
routes: [{name: r, use: small, escalate: careful}]
escalations:
  careful: {to: large, when: {p_correct: {under: 50%}}, hold_back: {tokens: 4, at_most: 10s}}
budgets: [{per: all, limit: $1/day}, {per: tenant, limit: 1M/day}]
"""
    async with fake_upstream(chat_either(REFUSES)) as a, fake_upstream(chat_either("Of course")) as b:
        policy = text.replace("A/v1", f"{a.base}/v1").replace("B/v1", f"{b.base}/v1")
        async with running_gateway(policy, tmp_path) as gateway:
            answer = await chat(gateway)
            rest = await left(gateway)

    assert answer.headers["x-turnout-model"] == "large"
    assert rest == {"all-day": 1_000_000 - 20, "tenant-day": 1_000_000 - 20}


async def test_a_client_that_leaves_pays_for_what_it_saw_and_nothing_stays_set_aside(tmp_path: Path) -> None:
    stalls = sse_reply(text_chunk("a"), Until(asyncio.Event()))
    async with fake_upstream(stalls) as upstream:
        policy = one(upstream, "{per: tenant, limit: 1k/day}")
        async with running_gateway(policy, tmp_path) as gateway:
            asked = json.dumps({**BODY, "max_tokens": 500, "stream": True}).encode()
            async with connected(gateway.port) as client:
                await client.send(head(len(asked)) + asked)
                await client.until(b'"a"')
                during = await left(gateway)
                client.kill()
                await gateway.until_empty()
            after = await left(gateway)

    assert during == {"tenant-day": 1_000 - 517}
    assert after == {"tenant-day": 1_000 - 18}, "its prompt, and the one token that came"


async def test_kills_at_any_moment_leave_nothing_set_aside(tmp_path: Path) -> None:
    hangs = sse_reply(Until(asyncio.Event()))
    async with fake_upstream(hangs) as upstream:
        policy = one(upstream, "{per: tenant, limit: 100k/day}")
        async with running_gateway(policy, tmp_path) as gateway:
            asked = json.dumps({**BODY, "stream": True}).encode()
            for cut in range(0, 60):
                async with connected(gateway.port) as client:
                    await client.send((head(len(asked)) + asked)[: None if cut > 30 else -1 - cut])
                    if cut % 3 == 0:
                        await asyncio.sleep(0)
                    client.kill()
            await gateway.until_empty()
            rest = await left(gateway)

    assert rest == {"tenant-day": 100_000}


async def test_a_downgraded_answer_says_so_and_is_counted(tmp_path: Path) -> None:
    text = """
policy: 1
models:
  small: {at: "B/v1", price: {input: $1/M, output: $1/M}}
  large: {at: "A/v1", price: {input: $1/M, output: $4/M}}
routes: [{name: r, use: large}]
budgets: [{per: tenant, limit: $0.000029/day, when_spent: {downgrade_to: small}}]
"""
    async with fake_upstream(chat_either("ok")) as a, fake_upstream(chat_either("ok")) as b:
        policy = text.replace("A/v1", f"{a.base}/v1").replace("B/v1", f"{b.base}/v1")
        async with running_gateway(policy, tmp_path) as gateway:
            answers = [await chat(gateway) for _ in range(4)]
            named = await chat(gateway, model="large")
            rest = await left(gateway)
            page = gateway.gateway.observer.metrics_page().decode()

    assert [answer.headers["x-turnout-model"] for answer in answers] == ["large", "small", "small", "small"]
    assert answers[1].headers["x-turnout-reason"] == "small: budget tenant-day is spent; else large"
    assert named.status_code == 429
    assert rest == {"tenant-day": 29 - 19 - 3 * 10}
    assert 'router_budget_requests_total{router_budget_by="memory",router_budget_result="downgraded"} 3.0' in page
    assert 'router_budget_spent_total{router_budget="tenant-day",router_budget_result="refused"} 1.0' in page


async def test_accounts_are_of_tenants_and_keys_and_users_apart(tmp_path: Path) -> None:
    entries = [(key, tenant) for key, tenant in (("k1", "acme"), ("k2", "acme"), ("k3", "other"))]
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps([{"hash": hashlib.sha256(k.encode()).hexdigest(), "tenant": t} for k, t in entries]))

    async def statuses(budget: str, *asked: tuple[str, dict[str, Any]]) -> list[int]:
        async with fake_upstream(chat_either("ok")) as upstream:
            policy = one(upstream, f"{{{budget}, limit: $0.0000{ASIDE}/day}}")
            async with running_gateway(policy, tmp_path, keys_file=keys) as gateway:
                answers = [await chat(gateway, {"authorization": f"Bearer {key}"}, **body) for key, body in asked]
        return [answer.status_code for answer in answers]

    assert await statuses("per: tenant", ("k1", {}), ("k2", {}), ("k3", {})) == [200, 429, 200]
    assert await statuses("per: api_key", ("k1", {}), ("k2", {}), ("k1", {})) == [200, 200, 429]
    assert await statuses("per: all", ("k1", {}), ("k3", {})) == [200, 429]
    users = [
        ("k1", {"user": "u"}),
        ("k1", {"user": "v"}),
        ("k2", {"user": "u"}),
        ("k3", {"user": "u"}),
        ("k1", {}),
        ("k2", {}),
    ]
    assert await statuses("per: user", *users) == [200, 200, 429, 200, 200, 429]


async def test_a_decision_alone_takes_nothing_and_says_what_would_come(tmp_path: Path) -> None:
    async with fake_upstream(chat_either("ok")) as upstream:
        policy = one(upstream, f"{{per: tenant, limit: $0.0000{ASIDE}/day}}")
        async with running_gateway(policy, tmp_path) as gateway, httpx.AsyncClient() as client:
            foreseen = [(await client.post(f"{gateway.base}/v1/route", json=BODY)).json() for _ in range(3)]
            await chat(gateway)
            then = (await client.post(f"{gateway.base}/v1/route", json=BODY)).json()
            text = await client.post(f"{gateway.base}/v1/route", json=BODY, headers={"accept": "text/plain"})

    assert [answer["status"] for answer in foreseen] == [200] * 3
    assert then["status"] == 429
    assert then["decision"]["over_budget"] == "tenant-day"
    assert text.text.startswith(
        "refused   over_budget\nwhy       budget tenant-day ($0.000029/day for each tenant) is spent;"
    )


async def test_a_reload_keeps_what_was_spent_and_another_limit_counts_at_once(tmp_path: Path) -> None:
    async with fake_upstream(chat_either("ok")) as upstream:
        before = one(upstream, "{per: tenant, limit: 30/day}")
        async with running_gateway(before, tmp_path) as gateway:
            await chat(gateway)
            gateway.policy.write_text(before.replace("30/day", "25/day"))
            await gateway.reloader.reload()
            refused, rest = await chat(gateway), await left(gateway)
            gateway.policy.write_text(before.replace("30/day", "30/day").replace("budgets", "#"))
            await gateway.reloader.reload()
            free = await chat(gateway)

    assert (refused.status_code, rest) == (429, {"tenant-day": 15})
    assert free.status_code == 200


async def test_what_was_turned_away_and_downgraded_is_decided_again_byte_for_byte(tmp_path: Path) -> None:
    from gateway.decisions.read import read_log
    from gateway.decisions.record import DecisionRecord
    from gateway.decisions.replay import policies_beside, replay

    log = tmp_path / "log"
    async with fake_upstream(chat_either("ok")) as upstream:
        policy = one(upstream, f"{{per: tenant, limit: $0.0000{ASIDE}/day}}", "{per: all, limit: 1M/min}")
        async with running_gateway(policy, tmp_path, decisions=Decisions(dir=log)) as gateway:
            for _ in range(3):
                await chat(gateway)
            await gateway.until_empty()
    records = [record for record in read_log(log) if isinstance(record, DecisionRecord)]

    assert [record.outcome.status for record in records] == [200, 429, 429]
    assert [record.outcome.budgeted.result for record in records if record.outcome.budgeted] == [
        "reserved",
        "refused",
        "refused",
    ]
    assert records[1].snapshot.budgets == {"tenant-day": 10, "all-min": records[1].snapshot.budgets["all-min"]}
    done = replay(records, policies_beside(log))
    assert (done.replayed, done.differ) == (3, ())


async def test_two_gateways_share_a_budget_and_go_on_when_the_store_is_killed(tmp_path: Path) -> None:
    limit = 14 * ASIDE
    server = RedisServer(tmp_path / "redis")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with fake_upstream(chat_either("ok")) as upstream:
        policy = one(upstream, f"{{per: all, limit: ${limit / 1e6:.6f}/day}}")
        shared = {"state": server.url, "state_wait_ms": 500}
        with running(server):
            async with (
                running_gateway(policy, tmp_path / "a", **shared) as one_,
                running_gateway(policy, tmp_path / "b", **shared) as other,
            ):
                for gateway in (one_, other):
                    await gateway.until(lambda g: g.store is not None and g.store.is_asked)
                first = [await chat(gateway) for gateway in (one_, other) * 5]
                seen = await left(other)
                server.kill()
                after = [await chat(gateway) for gateway in (one_, other) * 15]

    assert [answer.status_code for answer in first] == [200] * 10
    assert seen == {"all-day": limit - 10 * COST}
    assert {answer.status_code for answer in after} == {200, 429}
    assert COST * len(upstream.received) <= limit
    assert after[0].status_code == after[1].status_code == 200


async def test_official_clients_see_a_limit_and_do_not_wait_for_the_next_day(tmp_path: Path) -> None:
    anthropic, openai = pytest.importorskip("anthropic"), pytest.importorskip("openai")
    async with fake_upstream(chat_either("ok")) as upstream:
        policy = one(upstream, f"{{per: tenant, limit: $0.0000{ASIDE}/day}}")
        async with running_gateway(policy, tmp_path) as gateway:
            await chat(gateway)
            async with openai.AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=5) as client:
                with pytest.raises(openai.RateLimitError) as one_:
                    await client.chat.completions.create(model="auto", messages=HI, max_tokens=3)
            async with anthropic.AsyncAnthropic(base_url=gateway.base, api_key="any", max_retries=5) as client:
                with pytest.raises(anthropic.RateLimitError) as other:
                    await client.messages.create(model="auto", messages=HI, max_tokens=3)
            page = gateway.gateway.observer.metrics_page().decode()

    assert one_.value.code == "over_budget"
    assert "is whole again at" in str(other.value)
    refused = 'router_budget_requests_total{router_budget_by="memory",router_budget_result="refused"} 2.0'
    assert refused in page, "each asked once"


async def test_what_is_spent_while_the_store_hangs_is_there_when_it_wakes(tmp_path: Path) -> None:
    limit, server = 1_000 * ASIDE, RedisServer(tmp_path / "redis")
    async with fake_upstream(chat_either("ok")) as upstream:
        policy = one(upstream, f"{{per: all, limit: ${limit / 1e6:.6f}/day}}")
        with running(server):
            async with running_gateway(policy, tmp_path, state=server.url, state_wait_ms=100) as gateway:
                await gateway.until(lambda g: g.store is not None and g.store.is_asked)
                before = [await chat(gateway) for _ in range(3)]
                server.signal(signal.SIGSTOP)
                during = [await chat(gateway) for _ in range(5)]
                server.signal(signal.SIGCONT)
                await gateway.until(lambda g: g.store is not None and g.store.is_asked, within_s=20)
                async with asyncio.timeout(10):
                    while await left(gateway) != {"all-day": limit - 8 * COST}:  # noqa: ASYNC110  nothing announces it
                        await asyncio.sleep(0.01)
            async with running_gateway(policy, tmp_path, state=server.url, state_wait_ms=100) as other:
                await other.until(lambda g: g.store is not None and g.store.is_asked)
                seen = await left(other)

    assert {answer.status_code for answer in (*before, *during)} == {200}
    assert seen == {"all-day": limit - 8 * COST}, "another gateway knows all of it"


async def test_a_budget_may_refuse_everybody_while_the_store_is_away(tmp_path: Path) -> None:
    gone = f"redis://127.0.0.1:{unused_port()}/0"
    async with fake_upstream(chat_either("ok")) as upstream:
        policy = one(upstream, "{per: all, limit: $1/day, if_store_is_down: reject}")
        async with running_gateway(policy, tmp_path, state=gone) as gateway:
            refused = await chat(gateway)

    assert refused.status_code == 503
    assert refused.json()["error"]["message"].startswith("Budget all-day cannot be looked up while the store is away")
    assert refused.headers["retry-after"] == "1"
    assert not upstream.received

"""`resilience: {retry: {budget: ...}}` over real sockets: who fails is not asked ever more by all."""

from pathlib import Path

import httpx
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import fake_upstream, json_reply

from policies.allowance import MOST

BODY = {"model": "auto", "messages": [{"role": "user", "content": "hi"}]}
BROKEN = json_reply({"error": {"message": "broken"}}, 500)


async def test_beyond_the_budget_a_failure_is_told_at_once(tmp_path: Path) -> None:
    """Three attempts each, two of which are retries: ten retries are saved up, so five requests have theirs."""
    async with fake_upstream(BROKEN) as upstream:
        at = ", ".join(f"'{upstream.base}/v{n}'" for n in range(3))
        policy = f"policy: 1\nmodels: {{m: {{at: [{at}]}}}}\nroutes: [{{name: r, use: m}}]\n"
        policy += "resilience: {attempts: 3, retry: {budget: 1%}}\n"
        async with running_gateway(policy, tmp_path) as gateway, httpx.AsyncClient() as client:
            url = f"{gateway.base}/v1/chat/completions"
            statuses = [(await client.post(url, json=BODY)).status_code for _ in range(8)]
            page = gateway.gateway.observer.metrics_page().decode()

    assert statuses == [500] * 8
    assert len(upstream.received) == 8 + MOST
    assert 'router_retries_withheld_total{router_route="r"} 3.0' in page


async def test_without_a_budget_every_failure_is_followed(tmp_path: Path) -> None:
    async with fake_upstream(BROKEN) as upstream:
        policy = (
            f"policy: 1\nmodels: {{m: {{at: ['{upstream.base}/v1', '{upstream.base}/v2']}}}}\nroutes: [{{use: m}}]\n"
        )
        async with running_gateway(policy, tmp_path) as gateway, httpx.AsyncClient() as client:
            for _ in range(12):
                await client.post(f"{gateway.base}/v1/chat/completions", json=BODY)

    assert len(upstream.received) == 24

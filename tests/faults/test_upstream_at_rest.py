"""Who failed or asked for time is left alone while another model may answer, and asked all the same where none may."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import chat_answer, fake_upstream, json_reply, unused_port

LIMIT = {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}


def policy(a: str, b: str) -> str:
    models = f"models: {{a: {{at: '{a}/v1'}}, b: {{at: '{b}/v1'}}}}"
    return f"policy: 1\n{models}\nroutes: [{{use: a, fallback: [b]}}]\n"


async def asked(gateway: RunningGateway, models: Sequence[str]) -> list[Any]:
    async with httpx.AsyncClient(base_url=gateway.base) as client:
        return [
            await client.post(
                "/v1/chat/completions", json={"model": model, "messages": [{"role": "user", "content": "hi"}]}
            )
            for model in models
        ]


async def test_a_limit_with_a_time_is_obeyed_by_the_requests_that_follow(tmp_path: Path) -> None:
    full = json_reply(LIMIT, 429, [("retry-after", "30")])
    async with (
        fake_upstream(full) as a,
        fake_upstream(chat_answer("ok")) as b,
        running_gateway(policy(a.base, b.base), tmp_path) as gateway,
    ):
        answers = await asked(gateway, ["auto"] * 4)

        assert [answer.headers["x-turnout-model"] for answer in answers] == ["b"] * 4
        assert (len(a.received), len(b.received)) == (1, 4)
        [by_name] = await asked(gateway, ["a"])
        assert (by_name.status_code, len(a.received)) == (429, 2)


async def test_a_limit_without_a_time_is_asked_again(tmp_path: Path) -> None:
    async with (
        fake_upstream(json_reply(LIMIT, 429)) as a,
        fake_upstream(chat_answer("ok")) as b,
        running_gateway(policy(a.base, b.base), tmp_path) as gateway,
    ):
        await asked(gateway, ["auto"] * 3)

        assert (len(a.received), len(b.received)) == (3, 3)


async def test_where_all_are_at_their_limit_all_are_asked_and_the_client_is_told_when(tmp_path: Path) -> None:
    async with (
        fake_upstream(json_reply(LIMIT, 429, [("retry-after", "12")])) as a,
        fake_upstream(json_reply(LIMIT, 429, [("retry-after", "12")]), chat_answer("ok")) as b,
        running_gateway(policy(a.base, b.base), tmp_path) as gateway,
    ):
        refused, answered = await asked(gateway, ["auto", "auto"])

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "12")
    assert refused.json()["error"] == {
        "message": "slow down",
        "type": "requests",
        "param": None,
        "code": "rate_limit_exceeded",
    }
    assert (answered.status_code, answered.headers["x-turnout-model"]) == (200, "b")


@pytest.mark.parametrize(("fails", "calls"), [("is away", 0), ("fails", 3)])
async def test_a_model_that_fails_again_and_again_costs_no_more_than_the_first_times(
    fails: str, calls: int, tmp_path: Path
) -> None:
    async with (
        fake_upstream(json_reply({"error": {"message": "down"}}, 500)) as broken,
        fake_upstream(chat_answer("ok")) as b,
    ):
        base = broken.base if fails == "fails" else f"http://127.0.0.1:{unused_port()}"
        async with running_gateway(policy(base, b.base), tmp_path) as gateway:
            answers = await asked(gateway, ["auto"] * 6)

        assert [answer.status_code for answer in answers] == [200] * 6
        assert len(broken.received) == calls
        assert "left alone" not in answers[0].headers["x-turnout-reason"]

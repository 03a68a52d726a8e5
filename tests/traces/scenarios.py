"""Every kind of request that has a trace of its own shape: the policy, what upstreams do, what a client asks."""

import asyncio
import time
from typing import Any

from traces.traced_world import CALLER, KEY, Scenario, Traced
from upstreams.fake_messages import messages_either
from upstreams.fake_upstream import (
    DONE,
    Cut,
    Received,
    Reply,
    Until,
    chat_either,
    chunk,
    event,
    finish_chunk,
    json_reply,
    sse_reply,
    text_chunk,
    usage,
)

from gateway.experiments.shelf import Order

ONE = (
    "policy: 1\nmodels: {{m: {{at: '{A}/v1', price: {{input: $1/M, output: $4/M}}}}}}\nroutes: [{{name: r, use: m}}]\n"
)
UNTHINKING = ONE.replace("{{m: {{at:", "{{m: {{thinking: drop, at:")
WAITS = f"{ONE}resilience: {{{{total: 300ms, attempts: 1}}}}\n"
TWO = "policy: 1\nmodels: {{m: {{at: ['{A}/v1', '{B}/v1']}}}}\nroutes: [{{name: r, use: m}}]\n"
TWICE = "policy: 1\nmodels: {{m: {{at: ['{A}/v1', '{A}/v2']}}}}\nroutes: [{{name: r, use: m}}]\n"
SPARING = f"{TWICE}resilience: {{{{retry: {{{{budget: 1%}}}}}}}}\n"
NEXT = """
policy: 1
models: {{small: {{at: '{gone}/v1'}}, large: {{at: '{A}/v1'}}}}
routes: [{{name: r, use: small, fallback: [large]}}]
resilience: {{attempts: 2}}
"""
CASCADE = """
policy: 1
models:
  small: {{at: '{A}/v1', can: [logprobs], price: {{input: $1/M, output: $2/M}}}}
  large: {{at: '{B}/v1', price: {{input: $10/M, output: $20/M}}}}
routes: [{{name: r, use: small, escalate: careful}}]
escalations:
  careful: {{to: large, when: {{p_correct: {{under: 50%}}}}, hold_back: {{tokens: 4, at_most: 10s}}}}
"""
SECOND = CASCADE.replace("routes:", "  other: {{at: '{C}/v1', can: [logprobs]}}\nroutes:").replace(
    "{{to: large,", "{{to: large, second_opinion: other,"
)
TRIED = f"""{ONE}guardrails: {{{{errors: {{{{metric: error_rate, worse_by: 2pp}}}}}}}}
experiments:
  - name: second
    unit: user
    variants: {{{{control: {{{{weight: 50}}}}, treat: {{{{weight: 50, set: {{{{models.m.serves: other}}}}}}}}}}}}
    measure: {{{{primary: {{{{metric: task_success}}}}}}}}
    decide: {{{{then: ask}}}}
    watch: [errors]
"""
RAMPED = f"""{ONE}guardrails: {{{{errors: {{{{metric: error_rate, worse_by: 1pp}}}}}}}}
rollouts:
  - name: next
    unit: user
    change: {{{{models.m.serves: second}}}}
    steps: [{{{{traffic: 50%, for: 1h}}}}, {{{{approve: oncall}}}}, {{{{traffic: 100%, for: 1h}}}}]
    watch: [errors]
"""
BUDGETED = f"{ONE}budgets: [{{{{per: tenant, limit: $50/day}}}}, {{{{per: all, limit: 200k/min}}}}]\n"
SCANT = f"{ONE}budgets: [{{{{per: tenant, limit: $0.00122/day}}}}]\n"
LESSER = """
policy: 1
models:
  small: {{at: '{B}/v1', price: {{input: $1/M, output: $2/M}}}}
  large: {{at: '{A}/v1', price: {{input: $1/M, output: $4/M}}}}
routes: [{{name: r, use: large}}]
budgets: [{{per: tenant, limit: $0.00122/day, when_spent: {{downgrade_to: small}}}}]
"""
RACED = (
    "policy: 1\nmodels: {{m: {{at: ['{A}/v1', '{B}/v1'], price: {{input: $1/M, output: $4/M}}}}}}\n"
    "routes: [{{name: r, use: m}}]\nresilience: {{hedge: {{after: 20ms}}}}\n"
)
SHADOWED = (
    "policy: 1\nmodels: {{m: {{at: '{A}/v1'}}, b: {{at: '{B}/v1'}}}}\nroutes: [{{name: r, use: m}}]\n"
    "shadows: [{{name: s, of: r, to: b, sample: 100%}}]\n"
)
EMBEDS = "policy: 1\nmodels: {{m: {{at: '{A}/v1', can: [embeddings]}}}}\nroutes: [{{name: r, use: m}}]\n"
THEIRS = """
policy: 1
models: {{m: {{at: '{A}', dialect: anthropic, fits: {{context: 1000, output: 64}}}}}}
routes: [{{name: r, use: m}}]
"""

REFUSES = "I'm sorry, but I can't help with that."
LONG = "A long stable prompt that fills more than one block. " * 40
BROKEN = json_reply({"error": {"message": "broken"}}, 500)
BUSY = json_reply({"error": {"message": "busy"}}, 503)
NO = json_reply({"error": {"message": "temperature is too hot", "type": "invalid_request_error"}}, 400)
HANGS = sse_reply(Until(asyncio.Event()))


class Pair:
    """Of two requests the first is silent until the second came. `speaks` is the one that answers."""

    def __init__(self, speaks: int) -> None:
        self._speaks = speaks
        self._came = 0
        self._second = asyncio.Event()

    def __call__(self, got: Received) -> Reply:
        place = self._came % 2
        self._came += 1
        if place:
            self._second.set()
        else:
            self._second = asyncio.Event()
        if place != self._speaks:
            return sse_reply(Until(asyncio.Event()))
        steps = (text_chunk("ok"), finish_chunk(), chunk(choices=[], usage=usage()), DONE)
        return sse_reply(Until(self._second), *steps)


FIRST_SPEAKS, SECOND_SPEAKS = Pair(0), Pair(1)


def stalls_after(text: str) -> Reply:
    return sse_reply(text_chunk(text), Until(asyncio.Event()))


def cached(got: Received) -> Reply:
    """Says that 160 tokens of the prompt were there."""
    message = {"role": "assistant", "content": "ok"}
    used = {**usage(400, 1), "prompt_tokens_details": {"cached_tokens": 160}}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "usage": used}
    return json_reply({**head, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def goes_on(got: Received) -> Reply:
    head: dict[str, Any] = {"id": "c1", "object": "text_completion", "created": 1, "model": "m"}
    piece = {**head, "choices": [{"index": 0, "text": "on", "logprobs": None, "finish_reason": "stop"}]}
    if not got.json.get("stream"):
        return json_reply({**piece, "usage": usage()})
    return sse_reply(event(piece), event({**head, "choices": [], "usage": usage()}), DONE)


def embeds(got: Received) -> Reply:
    data = [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}]
    told = {"prompt_tokens": 9, "total_tokens": 9}
    return json_reply({"object": "list", "model": "m", "data": data, "usage": told})


async def again(world: Traced) -> None:
    """The second one has less of its budget left than it may come to."""
    await world.chat()
    await world.chat()


async def withheld(world: Traced) -> None:
    """All retries that were saved up are used."""
    while world.gateway.gateway.world.retries.take():
        pass
    await world.chat()


async def raced(world: Traced) -> None:
    """One hedge may begin."""
    world.gateway.gateway.world.hedges.allowance.came(1.0)
    await world.chat(stream=True)


async def twice(world: Traced) -> None:
    await world.chat(LONG)
    await world.chat(LONG)


async def rolled_back(world: Traced) -> None:
    """A person takes it back; whoever had the canary has what was before."""
    await world.gateway.gateway.experiments.obey("next", Order("abort", "", time.time()))
    await world.chat(user="u2")


async def shadowed(world: Traced) -> None:
    await world.chat()
    shadows = world.gateway.gateway.shadows
    await world.gateway.until(lambda _: all(c.results for c in shadows.chapters.values()) and not shadows.busy)


async def leaves(world: Traced) -> None:
    await world.leave_after(b'"a"')


HI = [{"role": "user", "content": "hi"}]
OK = {"A": [chat_either("ok")]}
SCENARIOS: dict[str, Scenario] = {
    "plain": Scenario(ONE, lambda world: world.chat(), OK),
    "stream": Scenario(ONE, lambda world: world.chat(stream=True), OK),
    "continued": Scenario(ONE, lambda world: world.chat(headers=CALLER), OK),
    "linked": Scenario(ONE, lambda world: world.chat(headers=CALLER), OK, trusts=False),
    "cache_reuse": Scenario(TWO, twice, {"A": [cached], "B": [cached]}, alike=True),
    "retry": Scenario(TWICE, lambda world: world.chat(), {"A": [BUSY, chat_either("ok")]}),
    "retry_withheld": Scenario(SPARING, withheld, {"A": [BUSY, chat_either("ok")]}),
    "hedge_cancelled": Scenario(RACED, raced, {"A": [FIRST_SPEAKS], "B": [FIRST_SPEAKS]}, alike=True),
    "hedge_won": Scenario(RACED, raced, {"A": [SECOND_SPEAKS], "B": [SECOND_SPEAKS]}, alike=True),
    "fallback": Scenario(NEXT, lambda world: world.chat(), OK),
    "all_failed": Scenario(ONE, lambda world: world.chat(), {"A": [BROKEN]}),
    "refused_there": Scenario(ONE, lambda world: world.chat(), {"A": [NO]}),
    "kept": Scenario(
        CASCADE, lambda world: world.chat(stream=True), {"A": [chat_either("All ", "is ", "well")], "B": [HANGS]}
    ),
    "escalate": Scenario(
        CASCADE,
        lambda world: world.chat(stream=True),
        {"A": [chat_either(REFUSES)], "B": [chat_either("Of ", "course")]},
    ),
    "turned_back": Scenario(CASCADE, lambda world: world.chat(), {"A": [chat_either(REFUSES)], "B": [BROKEN]}),
    "second_opinion": Scenario(
        SECOND,
        lambda world: world.chat(),
        {"A": [chat_either("yes")], "B": [chat_either("no")], "C": [chat_either("yes")]},
    ),
    "experiment": Scenario(TRIED, lambda world: world.chat(user="u1"), OK),
    "rollout": Scenario(RAMPED, lambda world: world.chat(user="u2"), OK),
    "rollback": Scenario(RAMPED, rolled_back, OK),
    "shadow": Scenario(SHADOWED, shadowed, {"A": [chat_either("ok")], "B": [chat_either("other")]}),
    "budget": Scenario(BUDGETED, lambda world: world.chat(), OK),
    "budget_reject": Scenario(SCANT, again, OK),
    "budget_downgrade": Scenario(LESSER, again, {"A": [chat_either("ok")], "B": [chat_either("ok")]}),
    "cancel": Scenario(ONE, leaves, {"A": [stalls_after("a")]}),
    "cut": Scenario(ONE, lambda world: world.chat(stream=True), {"A": [sse_reply(text_chunk("a"), Cut.RESET)]}),
    "deadline": Scenario(WAITS, lambda world: world.chat(), {"A": [HANGS]}),
    "left_out": Scenario(UNTHINKING, lambda world: world.chat(reasoning_effort="high"), OK),
    "unknown_model": Scenario(ONE, lambda world: world.chat(model="nobody"), OK),
    "bad_request": Scenario(ONE, lambda world: world.ask("/v1/chat/completions", {"messages": 1}), OK),
    "unauthorised": Scenario(ONE, lambda world: world.chat(headers={"authorization": "Bearer wrong"}), OK, keys=True),
    "tenant": Scenario(ONE, lambda world: world.chat(headers={"authorization": f"Bearer {KEY}"}), OK, keys=True),
    "messages": Scenario(
        ONE, lambda world: world.ask("/v1/messages", {"model": "auto", "messages": HI, "max_tokens": 64}), OK
    ),
    "responses": Scenario(ONE, lambda world: world.ask("/v1/responses", {"model": "auto", "input": "hi"}), OK),
    "completions": Scenario(
        ONE, lambda world: world.ask("/v1/completions", {"model": "auto", "prompt": "hi"}), {"A": [goes_on]}
    ),
    "embeddings": Scenario(
        EMBEDS, lambda world: world.ask("/v1/embeddings", {"model": "auto", "input": "hi"}), {"A": [embeds]}
    ),
    "messages_upstream": Scenario(THEIRS, lambda world: world.chat(stream=True), {"A": [messages_either("o", "k")]}),
}
"""By the name of its golden file. The in-process engine's is made in the test, since its gateway is."""

"""An agent that is stuck is known by its request alone, in every dialect; one that gets on is left alone."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.dialects.anthropic_messages.request import read_messages
from backends.dialects.openai_chat.request import read_chat
from backends.dialects.openai_responses.request import read_responses
from backends.messages import ChatRequest
from gateway.request.reading.steps import stuck_of
from policies.escalate.stuck import Stuck, Tried, stuck_in

Call = tuple[str, dict[str, Any], str]
"""A tool, its arguments, its result."""

Turns = Sequence[Sequence[Call]]


def chat(turns: Turns, **last: Any) -> ChatRequest:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "do it"}]
    for at, calls in enumerate(turns):
        made = [
            {
                "id": f"c{i}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments, indent=at % 2)},
            }
            for i, (name, arguments, _) in enumerate(calls)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": made} if calls else dict(ANSWER))
        messages += [{"role": "tool", "tool_call_id": f"c{i}", "content": call[2]} for i, call in enumerate(calls)]
        messages += [] if calls else [{"role": "user", "content": "go on"}]
    return read_chat(json.dumps({"model": "auto", "messages": messages, **last}).encode())


def anthropic(turns: Turns, **last: Any) -> ChatRequest:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "do it"}]
    for calls in turns:
        uses = [{"type": "tool_use", "id": f"t{i}", "name": n, "input": a} for i, (n, a, _) in enumerate(calls)]
        results: list[dict[str, Any]] = [
            {
                "type": "tool_result",
                "tool_use_id": f"t{i}",
                "content": r.removeprefix("Error: "),
                "is_error": r.startswith("E"),
            }
            for i, (_, _, r) in enumerate(calls)
        ]
        messages.append({"role": "assistant", "content": uses or "Done."})
        messages.append({"role": "user", "content": results or "go on"})
    return read_messages(json.dumps({"model": "auto", "max_tokens": 9, "messages": messages, **last}).encode())


def unmapped(turns: Turns) -> ChatRequest:
    """With a tool of Anthropic's own, which no other dialect has words for."""
    request = anthropic(turns, tools=[{"type": "web_search_20250305", "name": "web_search"}])
    assert request.unmapped is not None
    return request


def responses(turns: Turns) -> ChatRequest:
    items: list[dict[str, Any]] = [{"role": "user", "content": "do it"}]
    for calls in turns:
        items += [
            {"type": "function_call", "call_id": f"c{i}", "name": n, "arguments": json.dumps(a)}
            for i, (n, a, _) in enumerate(calls)
        ]
        items += [
            {"type": "function_call_output", "call_id": f"c{i}", "output": r} for i, (_, _, r) in enumerate(calls)
        ]
        items += [] if calls else [dict(ANSWER), {"role": "user", "content": "go on"}]
    return read_responses(json.dumps({"model": "auto", "input": items}).encode())


ANSWER = {"role": "assistant", "content": "Done."}
READ: Call = ("read", {"path": "a", "from": 1}, "some text")
SAME: Call = ("read", {"from": 1, "path": "a"}, "some text")
GREW: Call = ("read", {"path": "a", "from": 1}, "some more text")
OTHER: Call = ("read", {"path": "b", "from": 1}, "some text")
FAILS: Call = ("run", {"cmd": "make"}, "Error: no rule")
FAILS_OTHERWISE: Call = ("run", {"cmd": "make all"}, "Error: no target")

CASES: dict[str, tuple[Turns, Stuck]] = {
    "nothing was tried": ([], Stuck()),
    "one call": ([[READ]], Stuck()),
    "the same call again, its arguments in another order": ([[READ], [SAME], [READ]], Stuck(2, 2, 0, 2)),
    "the same call with another result": ([[READ], [GREW]], Stuck()),
    "another call with the same result": ([[READ], [OTHER]], Stuck()),
    "errors in a row, each another": ([[FAILS], [FAILS_OTHERWISE]], Stuck(2, 2, 2, 0)),
    "two calls by turns": ([[READ], [OTHER], [READ], [OTHER]], Stuck(2, 2, 0, 2)),
    "one of two calls gets on": ([[FAILS, READ], [FAILS, OTHER]], Stuck()),
    "all calls at once come to nothing": ([[READ, FAILS], [SAME, FAILS]], Stuck(1, 1, 1, 1)),
    "it got on again": ([[FAILS], [FAILS], [READ]], Stuck(0, 2, 2, 1)),
    "an answer lies between": ([[FAILS], [], [FAILS]], Stuck(1, 1, 1, 0)),
    "what was tried for another question may be tried again": ([[READ], [], [READ]], Stuck()),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("written", [chat, anthropic, unmapped, responses])
def test_every_dialect_tells_alike_whether_an_agent_is_stuck(case: str, written: Any) -> None:
    turns, expected = CASES[case]
    assert stuck_of(written(turns)) == expected


def test_reminders_beside_results_are_no_question() -> None:
    def turn(at: int) -> list[dict[str, Any]]:
        use = {"type": "tool_use", "id": f"t{at}", "name": "run", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": "no rule", "is_error": True}
        return [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result, {"type": "text", "text": "be brief"}]},
        ]

    messages = [{"role": "user", "content": "do it"}, *turn(0), *turn(1)]
    request = read_messages(json.dumps({"model": "auto", "max_tokens": 9, "messages": messages}).encode())
    assert stuck_of(request) == Stuck(2, 2, 2, 1)


@pytest.mark.parametrize(
    "calls",
    [
        [{"id": "c0", "type": "function", "function": {"name": "f", "arguments": "{not json"}}],
        [{"id": "c0", "type": "function", "function": {"name": "f", "arguments": ""}}],
        [{"id": "c0", "type": "custom", "custom": {"name": "f", "input": "x"}}],
        [{"id": "c0", "type": "custom", "function": "x"}],
    ],
)
def test_calls_of_any_shape_are_told_apart_or_taken_alike_and_never_in_the_way(calls: list[dict[str, Any]]) -> None:
    turn = [{"role": "assistant", "tool_calls": calls}, {"role": "tool", "tool_call_id": "c0", "content": "x"}]
    messages = [{"role": "user", "content": "do it"}, *turn, *turn, *turn]
    request = read_chat(json.dumps({"model": "auto", "messages": messages}).encode())
    assert stuck_of(request).turns == 2


TRIED = st.builds(Tried, st.sampled_from("ab"), st.sampled_from("xy"), st.booleans())
STEPS = st.lists(st.lists(TRIED, max_size=3), max_size=12)


@settings(max_examples=150, deadline=None)
@given(STEPS, STEPS)
def test_the_longest_row_never_shrinks_and_the_latest_is_part_of_it(
    before: list[list[Tried]], after: list[list[Tried]]
) -> None:
    earlier, later = stuck_in(before), stuck_in([*before, *after])
    assert later.most >= earlier.most
    assert later.turns <= later.most <= len(before) + len(after)
    assert max(later.failed, later.repeated) <= later.most <= later.failed + later.repeated


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_who_makes_a_new_call_that_works_is_not_stuck(before: list[list[Tried]]) -> None:
    assert stuck_in([*before, [Tried("new", "z", False)]]).turns == 0
    assert stuck_in([*before, []]).turns == 0

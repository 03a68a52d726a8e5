"""Bare texts are told apart wherever chats are: by what they say, and where they came as token ids, by these."""

import json
from typing import Any

import pytest

from backends.dialects.openai_completions.request import read_completions
from backends.messages import ChatRequest
from backends.remote.prefix import prefix_blocks
from gateway.decisions.asked import key_of
from gateway.errors import BadRequest
from gateway.request.bounds import refuse_many
from gateway.request.facts import facts_of
from gateway.request.identity import Principal
from gateway.request.reading.carried import uncarried
from gateway.request.reading.draw import draw_of
from gateway.settings import Limits
from policies.catalogue import Model, Run

SOMEBODY = Principal(salt=b"salt")
LONG = list(range(600))


def asked(prompt: Any, **fields: Any) -> ChatRequest:
    return read_completions(json.dumps({"model": "m", "prompt": prompt, **fields}).encode())


@pytest.mark.parametrize(("one", "other"), [("x" * 600, "y" * 600), (LONG, [1, *LONG[1:]]), ([LONG, [1]], [[2], LONG])])
def test_two_prompts_differ_in_every_key_that_is_made_of_them(one: Any, other: Any) -> None:
    first, same, second = asked(one), asked(one), asked(other)

    for key in (
        lambda request: draw_of(request, b"salt"),
        lambda request: key_of(request, SOMEBODY, b"secret"),
        lambda request: prefix_blocks(request, "m", b"salt")[:1],
    ):
        assert key(first) == key(same)
        assert key(first) != key(second)


def test_ids_are_counted_as_the_tokens_that_they_are_and_a_window_holds_the_longest_prompt() -> None:
    facts = facts_of(asked([LONG, [1, 2]]), SOMEBODY, {}, frozenset(), {})

    assert facts.prompt_tokens >= 602
    assert facts.longest_tokens == 600
    assert (facts.max_tokens, facts.choices, facts.user_turns) == (16, 2, 1)


def test_answers_are_bounded_for_each_prompt_and_prompts_by_themselves() -> None:
    limits = Limits(choices=2, inputs=3)

    refuse_many(asked(["a", "b", "c"], n=2), limits)

    for prompt, n, param in (("a", 3, "n"), (["a"] * 4, 1, "prompt")):
        with pytest.raises(BadRequest) as refused:
            refuse_many(asked(prompt, n=n), limits)
        assert refused.value.param == param


def test_models_that_cannot_go_on_with_a_bare_text_are_passed_by() -> None:
    models = {
        "server": Model(name="server"),
        "theirs": Model(name="theirs", dialect="anthropic"),
        "here": Model(name="here", run=Run(weights="none")),
    }

    plain, beyond = uncarried(asked("a"), models), uncarried(asked("a", echo=True, logprobs=1), models)

    assert {name: fault.param for name, fault in plain.items()} == {"theirs": "prompt"}
    assert {name: fault.param for name, fault in beyond.items()} == {"theirs": "prompt", "here": "echo"}

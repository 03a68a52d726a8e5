"""Settings that meet in one request, as a client sees them: choices, stops, penalties, bias, log-probabilities, seeds, caps.

Drawn bodies go to three engines over real sockets, six at a time, whole and streamed: without drafts, with them, and with
them in so few blocks that requests are preempted. What comes must be the same everywhere, and what was asked for.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from engine.stub_models import StubVocabulary
from test_engine_cases_over_http import House, Seen, SlowModel, batch_of, house

from backends.engine.draft.ngram import NgramDrafter

BODIES, AT_ONCE = 30, 6
STOPS = (["1 "], "2 3", ["3 1 ", "2 2"], ["5 ", "5 1", " 5"], ["1 1 1 1"], " ")
CHOICES: Mapping[str, tuple[Any, ...]] = {
    "n": (1, 2, 4),
    "stop": STOPS,
    "presence_penalty": (-2, 1.0, 2),
    "frequency_penalty": (-2, 0.5, 2),
    "logit_bias": ({"1": -100}, {"2": 3}, {"7": 100}),
    "top_p": (0.1, 0.9),
    "top_logprobs": (0, 1, 5),
    "messages": tuple([{"role": "user", "content": text}] for text in ("hi hi hi", "x" * 40, "ababab" * 5)),
}


def drawn(random: Random) -> dict[str, Any]:
    body: dict[str, Any] = {
        "max_tokens": random.randint(1, 60),
        "temperature": random.choice([0, 0.7, 1.5]),
        "seed": random.choice([0, -5, 42, 2**63 - 1]),
    }
    body |= {name: random.choice(values) for name, values in CHOICES.items() if random.random() < 0.45}
    return body | ({"logprobs": True} if "top_logprobs" in body else {})


async def asked(here: House, body: Mapping[str, Any], *, stream: bool) -> list[Seen]:
    full = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **body, "stream": stream}
    answer = await here.client.post(f"{here.gateway.base}/v1/chat/completions", json=full)
    assert answer.status_code == 200, answer.text
    choices = joined(answer.text) if stream else whole(answer.json())
    return [choices[index] for index in sorted(choices)]


def whole(answer: Mapping[str, Any]) -> dict[int, Seen]:
    return {
        choice["index"]: Seen(
            choice["message"]["content"] or "",
            choice["finish_reason"],
            logprobs=(choice.get("logprobs") or {}).get("content") or [],
        )
        for choice in answer["choices"]
    }


def joined(events: str) -> dict[int, Seen]:
    choices: dict[int, Seen] = defaultdict(Seen)
    lines = [line.removeprefix("data: ") for line in events.splitlines() if line.startswith("data: {")]
    for choice in (choice for line in lines for choice in json.loads(line)["choices"]):
        seen = choices[choice["index"]]
        assert seen.finish is None, "something came after the end of a choice"
        seen.text += choice["delta"].get("content") or ""
        seen.finish = choice["finish_reason"]
        seen.logprobs += (choice.get("logprobs") or {}).get("content") or []
    assert events.endswith("data: [DONE]\n\n")
    return choices


def judge(body: Mapping[str, Any], choices: list[Seen]) -> None:
    stops = body.get("stop", [])
    assert len(choices) == body.get("n", 1)
    for seen in choices:
        assert seen.finish in ("stop", "length")
        assert not any(stop in seen.text for stop in ([stops] if isinstance(stops, str) else stops))
        assert len(seen.logprobs) <= body["max_tokens"]
        assert bool(seen.logprobs) <= ("top_logprobs" in body)
        for entry in seen.logprobs:
            chances = [other["logprob"] for other in entry["top_logprobs"]]
            assert len(chances) == body["top_logprobs"]
            assert chances == sorted(chances, reverse=True)


def told(choices: list[Seen]) -> list[tuple[str, str | None, list[str]]]:
    """Log-probabilities themselves may differ in their last bits with a batch; which tokens they are of may not."""
    return [(seen.text, seen.finish, [entry["token"] for entry in seen.logprobs]) for seen in choices]


async def answers(here: House, bodies: list[dict[str, Any]]) -> list[list[tuple[str, str | None, list[str]]]]:
    found = []
    for at in range(0, len(bodies), AT_ONCE):
        part = bodies[at : at + AT_ONCE]
        each = await asyncio.gather(*(asked(here, body, stream=stream) for stream in (False, True) for body in part))
        for body, one, other in zip(part, each, each[len(part) :], strict=False):
            judge(body, one)
            assert told(one) == told(other), body
            found.append(told(one))
    return found


@pytest.mark.parametrize("seed", [1, 2])
async def test_whatever_is_asked_together_is_answered_alike_with_drafts_and_with_preemption(
    seed: int, tmp_path: Path
) -> None:
    random = Random(seed)
    bodies = [drawn(random) for _ in range(BODIES)]
    vocabulary = StubVocabulary({token: f"{token} " for token in range(8)}, eos=random.choice([None, 7]))
    found = []

    for name, drafter, blocks in (("plain", None, 512), ("drafts", NgramDrafter(), 512), ("few", NgramDrafter(), 10)):
        (tmp_path / name).mkdir()

        def build(drafter: NgramDrafter | None = drafter, blocks: int = blocks) -> Any:
            return batch_of(SlowModel(blocks=blocks, vocab_size=8, sharpness=1.5), vocabulary, drafter)

        async with house(build, vocabulary, tmp_path / name) as here:
            found.append(await answers(here, bodies))
            assert (here.upstream.engine.stats().preemptions > 0) == (name == "few")

    for body, *same in zip(bodies, *found, strict=True):
        assert same[0] == same[1] == same[2], body

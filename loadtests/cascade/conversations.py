"""`python -m loadtests.cascade.conversations --data DIR`: who is taken down within a conversation, by which processes.

Conversations made of published questions (MMLU and GSM8K) and follow-ups, forty at a time, each turn at one of two
processes, which estimate by the shipped classifier, steer lines of their own, and give small answers up that are known to be
wrong, four of five of them. Beside it each turn is decided by the other process too.
"""

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from pyarrow import parquet

from backends.dialects.openai_chat.request import read_chat
from classifiers.estimator import Estimator, open_estimator
from classifiers.question import Question
from gateway.request.judge import Judged, past_of
from gateway.request.reading.conversation import Past, Turn, keys_of
from gateway.state.notes import MemoryNotes
from loadtests.ledger import add_row
from policies.decide import decide
from policies.decision import Call
from policies.estimates import Estimate
from policies.facts import Facts
from policies.language.load import load_policy
from policies.policy import ID_FROM, Choose, Policy
from policies.snapshot import Snapshot
from policies.steering.helm import Helm, turn
from policies.steering.sight import Decided, may_escalate, sights
from policies.steering.steer import EVERY

RULES = """
policy: 1
models:
  small: {at: 'http://small/v1', price: {input: $0.05/M, output: $0.20/M}}
  large: {at: 'http://large/v1', price: {input: $1/M, output: $4/M}}
routes: [{name: default, escalate: careful, choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}}]
escalations: {careful: {to: large, when: {p_correct: {under: 70%}}}}
"""
FOLLOW_UPS = ("thanks!", "Shorter, please.", "Why?", "Can you say that in Spanish?", "And as a table?", "ok, go on")
OPEN_AT_ONCE, CAUGHT, LADDER = 40, 0.8, ("small", "large")
SHARED, APART = "a store shared", "nothing shared"


@dataclass
class Talk:
    """A conversation under way: what was asked, and from which tiers it was answered."""

    questions: list[tuple[str, bool]]
    asked: list[str] = field(default_factory=list)
    tiers: list[int] = field(default_factory=list)

    @property
    def messages(self) -> list[dict[str, str]]:
        turns = [[{"role": "user", "content": text}, {"role": "assistant", "content": "..."}] for text in self.asked]
        return [message for pair in turns for message in pair][:-1]


class Process:
    """One gateway: a line of its own; notes of its own, or shared ones."""

    def __init__(self, rules: Policy, notes: MemoryNotes, shares: bool) -> None:
        self.policy = rules
        self._notes, self._shares = notes, shares
        self._helm = Helm()
        self._seen: list[Decided] = []

    async def judge(self, talk: Talk, estimate: Estimate) -> Judged:
        request = read_chat(json.dumps({"model": "auto", "messages": talk.messages}).encode())
        keys = keys_of(request, {}, b"tenant", ID_FROM)
        assert keys is not None
        link = Turn(self._notes, *keys, self.policy.remember_s, self._shares)
        past = await link.past()
        facts = Facts(prompt_tokens=60 * len(talk.asked), escalated_to=past.escalated_to, was_on=past.was_on)
        snapshot = Snapshot(replicas={})
        return Judged(facts, estimate, decide(self.policy, facts, estimate, snapshot), snapshot, {}, 0, link)

    def steer(self, judged: Judged) -> None:
        self._seen.append(Decided(judged.facts, judged.estimate, judged.decision))
        if len(self._seen) < EVERY:
            return
        [route] = self.policy.routes
        assert isinstance(route.choose, Choose)
        fresh = sights(self.policy, route, route.choose, self._seen)
        at_most, now = may_escalate(self.policy, route), time.time()
        self._helm, line = turn(
            self._helm, route.choose, fresh, now=now, remember_s=self.policy.remember_s, at_most=at_most
        )
        self._seen, self.policy = [], self.policy.redrawn({route.name: line})


def tier_of(judged: Judged) -> int:
    assert isinstance(judged.decision.choice, Call)
    return LADDER.index(judged.decision.choice.model)


async def play(
    talks: Sequence[Talk], estimator: Estimator, rules: Policy, *, shares: bool, seed: int
) -> dict[str, Any]:
    """What became of every turn. A conversation goes on at either process."""
    random, told = Random(seed), Counter[str]()
    store = MemoryNotes(time.monotonic)
    both = [Process(rules, store if shares else MemoryNotes(time.monotonic), shares) for _ in range(2)]
    waiting, open_ones = list(talks), list[Talk]()
    while waiting or open_ones:
        while waiting and len(open_ones) < OPEN_AT_ONCE:
            open_ones.append(waiting.pop())
        talk = random.choice(open_ones)
        text, is_right = talk.questions[len(talk.asked)]
        talk.asked.append(text)
        estimate = estimator.estimate_now(Question(tuple(talk.asked)))
        one, other = random.sample(both, 2)
        judged, otherwise = await one.judge(talk, estimate), await other.judge(talk, estimate)
        one.steer(judged)
        tier, link = tier_of(judged), judged.turn
        assert link is not None
        escalates = judged.decision.hold is not None and not is_right and random.random() < CAUGHT
        stays = escalates and rules.moves_conversations
        link.leave(Past(escalated_to="large") if stays else past_of(one.policy, judged))
        told.update(turns=1, escalated=escalates, otherwise=tier_of(otherwise) != tier)
        told["large"] += (served := 1 if escalates else tier)
        told["down"] += bool(talk.tiers) and served < max(talk.tiers)
        talk.tiers.append(served)
        if len(talk.asked) == len(talk.questions):
            open_ones.remove(talk)
    return {"conversations": len(talks), **told}


def talks_of(folder: Path, count: int, seed: int) -> Iterator[Talk]:
    """Half of the turns are published questions with the small model's outcome, half follow-ups, which it can answer."""
    names = ("routellm_mmlu.parquet", "routellm_gsm8k.parquet")
    rows = [row for name in names for row in parquet.read_table(folder / name).to_pylist()]
    known, random = [(row["prompt"], bool(row["small_correct"])) for row in rows], Random(seed)
    for _ in range(count):
        turns = range(random.randint(2, 6))
        yield Talk(
            [
                (random.choice(FOLLOW_UPS), True) if at and random.random() < 0.5 else random.choice(known)
                for at in turns
            ]
        )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--conversations", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    estimator = open_estimator()
    loaded = load_policy(RULES, name="rules", calibrate=lambda _: estimator.calibration)
    assert loaded.policy is not None
    forgets = {name: msgspec.structs.replace(p, moves="answer") for name, p in loaded.policy.escalations.items()}
    ways = {SHARED: (loaded.policy, True), APART: (loaded.policy, False)}
    ways["escalations forgotten, a store shared"] = (msgspec.structs.replace(loaded.policy, escalations=forgets), True)
    found = {}
    for way, (rules, shares) in ways.items():
        talks = list(talks_of(asked.data, asked.conversations, asked.seed))
        found[way] = await play(talks, estimator, rules, shares=shares, seed=asked.seed)
        print(way, json.dumps(found[way]))
    await estimator.aclose()
    add_row(
        "who is taken down in a conversation", f"{asked.conversations} conversations, 2 processes", json.dumps(found)
    )
    assert found[SHARED]["down"] == 0, "somebody was taken down though the store was shared"


if __name__ == "__main__":
    asyncio.run(main())

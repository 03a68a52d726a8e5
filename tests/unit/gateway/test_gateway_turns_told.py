"""What a turn tells the next one of where its conversation was, and what gateways whose lines differ make of it."""

import msgspec
import pytest
from servers.cascade_world import Scripted

from backends.dialects.openai_chat.request import read_chat
from backends.messages import ChatRequest
from classifiers.question import Question
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.identity import ANONYMOUS
from gateway.request.judge import Judged, judge, past_of
from gateway.request.reading.conversation import Past, Turn
from gateway.request.snapshot import World
from gateway.state.memory import MemoryResidency
from gateway.state.notes import MemoryNotes
from policies.catalogue import Model, Price
from policies.decision import Call, Decision
from policies.estimates import Estimate, Unsettled
from policies.facts import Facts
from policies.policy import Choose, Difficulty, Expected, Policy, Route, Target
from policies.snapshot import Snapshot

ON_MEDIUM = Past(was_on="medium")
LADDER = ("small", "medium", "large")
CHOOSE = Choose(
    among=LADDER,
    target=Target("cost", 40, "large"),
    when_unsure="large",
    prices={},
    relative_cost={},
    loss_per_reference=1.0,
    expected=Expected(40, 95, {}),
)
RULES = Policy(hash="", name="", models={}, routes=(Route(name="default", choose=CHOOSE),))


FIXED = msgspec.structs.replace(
    RULES, routes=(Route(name="default", choose=msgspec.structs.replace(CHOOSE, adapts=False)),)
)


def told(
    was_on: str,
    chosen: str,
    *,
    escalated_to: str = "",
    is_shared: bool = True,
    abstains: str = "",
    rules: Policy = RULES,
) -> Past:
    facts = Facts(was_on=was_on, escalated_to=escalated_to)
    decision = Decision(steps=(Call(chosen, "r"),), route="default", reason="", policy_hash="")
    notes = SharedMemory(lambda: 0.0) if is_shared else MemoryNotes(lambda: 0.0)
    turn = Turn(notes, (), "k", 60.0)
    return past_of(rules, Judged(facts, Estimate(abstains=abstains), decision, Snapshot(replicas={}), {}, 0, turn))


def test_the_next_turn_is_told_of_the_higher_of_where_the_conversation_was_and_is() -> None:
    assert told("", "small") == Past(), "nobody comes lower than that"
    assert told("", "medium") == ON_MEDIUM
    assert told("medium", "large") == Past(was_on="large")
    assert told("medium", "small") == ON_MEDIUM, "medium was down"
    assert told("gone", "small") == Past()
    assert told("", "large", escalated_to="medium") == Past(escalated_to="medium")
    assert told("", "large", is_shared=False) == Past(), "the history tells"
    assert told("", "large", is_shared=False, abstains="late") == Past(was_on="large")
    assert told("large", "large", is_shared=False) == Past(was_on="large")
    assert told("", "large", rules=FIXED) == Past(), "everybody's line"
    assert told("", "large", rules=FIXED, abstains="late") == Past(was_on="large")


class SharedMemory(MemoryNotes):
    """As a store that gateways share."""

    is_shared = True


class Reads:
    """The chance of the small model is what the turns say; the large one nearly always knows."""

    async def begin(self, question: Question, within_s: float, unsettled: Unsettled | None = None) -> Estimate:
        known = tuple([{"small": float(turn), "medium": float(turn), "large": 0.97} for turn in question.turns])
        return Estimate(p_good=known[-1], earlier=known[:-1])


class ReadsLate(Reads):
    """Its first word is late, as on a busy machine; by the next turn it knows all."""

    asked = 0

    async def begin(self, question: Question, within_s: float, unsettled: Unsettled | None = None) -> Estimate:
        self.asked += 1
        return Estimate(abstains="late") if self.asked == 1 else await super().begin(question, within_s, unsettled)


def gateway_with_line(loss: float, notes: MemoryNotes, reads: Reads | None = None) -> tuple[Live, World]:
    price = {name: Price(cost, cost, cost) for name, cost in zip(LADDER, (100_000, 300_000, 1_000_000), strict=True)}
    choose = msgspec.structs.replace(
        CHOOSE,
        prices=price,
        relative_cost={"small": 0.1, "medium": 0.3, "large": 1.0},
        loss_per_reference=loss,
    )
    models = {name: Model(name=name, at=(name,), price=price[name], head=name) for name in LADDER}
    rules = msgspec.structs.replace(
        RULES, models=models, routes=(Route(name="default", choose=choose),), difficulty=Difficulty()
    )
    replicas = {name: (Replica(name, name, name, upstream=Scripted([])),) for name in LADDER}
    residency = MemoryResidency(10, lambda: 0.0)
    return Live(rules, replicas, reads or Reads()), World(residency=residency, now=lambda: 0.0, notes=notes)


def chat_of(turns: tuple[float, ...]) -> ChatRequest:
    said = [[{"role": "user", "content": str(turn)}, {"role": "assistant", "content": "a"}] for turn in turns]
    messages = [message for pair in said for message in pair][:-1]
    return read_chat(msgspec.json.encode({"model": "auto", "messages": messages}))


async def turn_at(gateway: tuple[Live, World], *turns: float) -> str:
    live, world = gateway
    judged = await judge(live, chat_of(turns), ANONYMOUS, {}, world)
    if judged.turn is not None and (past := past_of(live.policy, judged)) != Past():
        judged.turn.leave(past)
    assert isinstance(judged.decision.choice, Call)
    return judged.decision.choice.model


@pytest.mark.parametrize(("notes", "second"), [(SharedMemory, "large"), (MemoryNotes, "small")])
async def test_gateways_whose_lines_differ_tell_each_other_where_a_conversation_was(
    notes: type[MemoryNotes], second: str
) -> None:
    """The first turn is hard by the line of one, and easy by that of the other; who is alone goes by the history."""
    store = notes(lambda: 0.0)
    keen, sparing = gateway_with_line(10.0, store), gateway_with_line(0.1, store)
    assert await turn_at(keen, 0.5) == "large"
    assert await turn_at(sparing, 0.5, 0.9) == second
    assert await turn_at(sparing, 0.5, 0.9, 0.9) == second
    assert await turn_at(sparing, 0.4) == "small"


@pytest.mark.parametrize("notes", [SharedMemory, MemoryNotes])
async def test_a_turn_whose_estimate_was_late_is_where_the_conversation_stays(notes: type[MemoryNotes]) -> None:
    """It went to the model for doubt; by its chances, which are known later, it would have been an easy one."""
    gateway = gateway_with_line(1.0, notes(lambda: 0.0), ReadsLate())
    assert await turn_at(gateway, 0.96) == "large"
    assert await turn_at(gateway, 0.96, 0.96) == "large"
    for turns in range(3, 8):
        assert await turn_at(gateway, *[0.96] * turns) == "large", "word goes on from turn to turn"
    assert await turn_at(gateway, 0.95) == "small", "another conversation"


async def test_where_every_estimate_was_there_a_process_alone_leaves_no_word() -> None:
    """So it does not look for one, either."""
    notes = MemoryNotes(lambda: 0.0)
    gateway = gateway_with_line(10.0, notes)
    for turns in ((0.5,), (0.5, 0.9), (0.5, 0.9, 0.2)):
        await turn_at(gateway, *turns)
    assert not notes.may_hold_any


async def test_a_conversation_that_begins_looks_for_no_word_though_others_were_left() -> None:
    """Its keys are a digest of all that was said, which only who may need them pays for."""
    gateway = gateway_with_line(1.0, MemoryNotes(lambda: 0.0), ReadsLate())
    await turn_at(gateway, 0.96)
    live, world = gateway
    assert world.notes.may_hold_any
    assert (await judge(live, chat_of((0.2,)), ANONYMOUS, {}, world)).turn is None
    assert (await judge(live, chat_of((0.2, 0.3)), ANONYMOUS, {}, world)).turn is not None


async def test_words_that_are_too_old_are_not_looked_for() -> None:
    now = [0.0]
    notes = MemoryNotes(lambda: now[0])
    notes.post("a", "large", 60.0)
    assert notes.may_hold_any
    now[0] = 61.0
    assert not notes.may_hold_any
    assert len(notes) == 0

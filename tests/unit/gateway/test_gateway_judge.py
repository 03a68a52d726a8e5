"""Deciding, fed from the world: who is measured, who is asked how hard it is, what the snapshot holds."""

import json
import time
from collections.abc import Callable, Collection, Mapping

import msgspec
import pytest

from backends.dialects.openai_chat.request import read_chat
from backends.errors import UpstreamError
from backends.messages import ChatRequest
from backends.upstream import Answer, Load, Prepared, UpstreamCall
from classifiers.question import Question
from gateway.live.in_force import Estimates, Live
from gateway.live.replicas import Claim, Replica
from gateway.request.identity import ANONYMOUS
from gateway.request.judge import judge
from gateway.request.reading.draw import draw_of
from gateway.request.snapshot import World
from gateway.state.memory import MemoryResidency
from policies.catalogue import Model, Price, Run
from policies.decision import Call
from policies.estimates import Estimate, Span, Unsettled
from policies.policy import Choose, Difficulty, Expected, Policy, Route, Target


class Measuring:
    """An upstream that measures prompts, and counts how often."""

    def __init__(self, *, exact: bool = False, held: int | None = None, unreadable: bool = False) -> None:
        self.measured = 0
        self._exact = exact
        self._held = held
        self._unreadable = unreadable

    def prepare(self, request: ChatRequest, salt: bytes) -> Prepared:
        self.measured += 1
        if self._unreadable:
            raise UpstreamError("unsupported", "no template for tools", sent=False, param="tools")
        return Prepared(tokens=40, exact=self._exact, blocks=(b"1" + salt, b"2" + salt), block_tokens=16)

    async def start(self, call: UpstreamCall) -> Answer:
        raise AssertionError("deciding starts nothing")

    def resident_tokens(self, prepared: Prepared) -> int | None:
        return self._held

    def load(self) -> Load:
        return Load()

    async def aclose(self) -> None:
        pass


class Asked:
    """A classifier that notes what it was asked."""

    def __init__(self) -> None:
        self.questions: list[tuple[Question, float]] = []

    async def begin(self, question: Question, within_s: float, unsettled: Unsettled | None = None) -> Estimate:
        self.questions.append((question, within_s))
        return Estimate(p_good={"small": 0.9})


def request(model: str = "auto") -> ChatRequest:
    return read_chat(json.dumps({"model": model, "messages": [{"role": "user", "content": "hi"}]}).encode())


def live(
    upstreams: Mapping[str, list[Measuring]],
    local: frozenset[str] = frozenset(),
    difficulty: Difficulty | None = None,
    estimator: Estimates | None = None,
) -> Live:
    models = {
        name: Model(name=name, run=Run(weights="w")) if name in local else Model(name=name, at=places(name, len(group)))
        for name, group in upstreams.items()
    }
    policy = Policy(
        hash="h",
        name="p",
        models=models,
        routes=(Route(name="default", use=next(iter(models))),),
        difficulty=difficulty,
    )
    replicas = {
        name: tuple(
            Replica(name, place, place, upstream=upstream, is_local=name in local)
            for place, upstream in zip(models[name].replicas, group, strict=True)
        )
        for name, group in upstreams.items()
    }
    return Live(policy, replicas, estimator)


def places(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"http://{name}{number}/v1" for number in range(count))


@pytest.fixture
def world() -> World:
    return World(residency=MemoryResidency(100, time.monotonic), now=lambda: 5.0)


async def test_only_models_whose_measure_is_read_are_measured(world: World) -> None:
    lone, pair, engine = Measuring(), [Measuring(), Measuring()], Measuring(exact=True, held=16)
    here = live({"lone": [lone], "pair": pair, "engine": [engine]}, local=frozenset({"engine"}))

    judged = await judge(here, request(), ANONYMOUS, {}, world)

    assert (lone.measured, pair[0].measured, pair[1].measured, engine.measured) == (0, 1, 0, 1)
    assert judged.facts.exact_tokens == {"engine": 40}
    assert judged.snapshot.replicas["engine"][0].resident_tokens == 16
    assert judged.snapshot.now == 5.0
    assert judged.snapshot.draw == draw_of(request(), ANONYMOUS.salt)


async def test_a_pinned_request_measures_its_model_alone_and_asks_no_classifier(world: World) -> None:
    asked, other, engine = Asked(), Measuring(exact=True), Measuring(exact=True)
    here = live({"a": [engine], "b": [other]}, frozenset({"a", "b"}), Difficulty(), asked)

    judged = await judge(here, request("a"), ANONYMOUS, {}, world)

    assert (engine.measured, other.measured) == (1, 0)
    assert asked.questions == []
    assert judged.estimate.abstains


class Glances:
    """A classifier whose quick stage leaves open what it is told, and keeps what came of deciding at both ends."""

    def __init__(self, low: float, high: float) -> None:
        self.span = Span(*(Estimate(p_good={"a": chance, "b": 0.95}) for chance in (low, high)))
        self.open: Collection[int] | None = None

    async def begin(self, question: Question, within_s: float, unsettled: Unsettled | None = None) -> Estimate:
        assert unsettled is not None
        self.open = unsettled(self.span)
        return self.span.low

    def numbers(self, question: Question) -> Callable[[], None]:
        return lambda: None


@pytest.mark.parametrize(("low", "high", "left_open"), [(0.94, 0.93, ()), (0.2, 0.1, ()), (0.94, 0.1, (0,))])
async def test_a_quick_estimate_is_decided_on_at_both_its_ends(
    world: World, low: float, high: float, left_open: tuple[int, ...]
) -> None:
    glances, ladder = Glances(low, high), {"a": Price(100_000, 0, 400_000), "b": Price(2_000_000, 0, 8_000_000)}
    here = live({"a": [Measuring()], "b": [Measuring()]}, difficulty=Difficulty(), estimator=glances)
    choose = Choose(
        among=("a", "b"), target=Target("cost", 40, "b"), when_unsure="b", prices=ladder,
        relative_cost={"a": 0.05, "b": 1.0}, loss_per_reference=2.0, expected=Expected(40, 97, {}),
    )  # fmt: skip
    models = {name: msgspec.structs.replace(model, head=name) for name, model in here.policy.models.items()}
    here.redraw(msgspec.structs.replace(here.policy, models=models, routes=(Route(name="default", choose=choose),)))

    judged = await judge(here, request(), ANONYMOUS, {}, world)

    assert glances.open == left_open
    assert judged.estimate == glances.span.low


async def test_the_classifier_gets_the_question_and_the_policys_time(world: World) -> None:
    asked = Asked()
    here = live({"a": [Measuring()]}, difficulty=Difficulty(within_ms=20), estimator=asked)

    judged = await judge(here, request(), ANONYMOUS, {}, world)

    assert asked.questions == [(Question(("hi",)), 0.02)]
    assert judged.estimate.p_good == {"small": 0.9}


async def test_a_guess_of_residency_is_a_whole_number_of_blocks_and_never_more_than_the_prompt(world: World) -> None:
    pair = [Measuring(), Measuring()]
    here = live({"pair": pair})
    blocks = pair[0].prepare(request(), ANONYMOUS.salt).blocks
    await world.residency.learn("http://pair1/v1", blocks, 60)

    judged = await judge(here, request(), ANONYMOUS, {}, world)

    assert [state.resident_tokens for state in judged.snapshot.replicas["pair"]] == [0, 32]
    assert judged.resident_tokens(Call("pair", "http://pair1/v1")) == 32


async def test_a_model_that_cannot_read_the_conversation_does_not_stop_the_others(world: World) -> None:
    here = live({"a": [Measuring(unreadable=True)], "b": [Measuring(exact=True)]}, frozenset({"a", "b"}))

    judged = await judge(here, request(), ANONYMOUS, {}, world)

    assert judged.facts.exact_tokens == {"b": 40}


async def test_a_claim_is_in_the_next_snapshot(world: World) -> None:
    here = live({"pair": [Measuring(), Measuring()]})
    first = await judge(here, request(), ANONYMOUS, {}, world)
    chosen = first.decision.choice
    assert isinstance(chosen, Call)

    Claim(here.replica(chosen), 1_000)
    second = await judge(here, request(), ANONYMOUS, {}, world)

    state = next(state for state in second.snapshot.replicas["pair"] if state.replica == chosen.replica)
    assert (state.running, state.queued_tokens) == (1, 1_000)
    assert second.decision.choice != chosen

"""Parts of shadows by themselves: what is captured, how answers are bounded, what the command tells."""

import asyncio
import json
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from backends.messages import ChatRequest, Delta, Finish, Usage, Wire
from backends.transport import FastTransport, TransportError
from backends.upstream import GIVES_WAY, Load, Prepared, UpstreamCall
from gateway.cli import app
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.judge import Judged
from gateway.request.settlement import Settlement
from gateway.settings import BadSettings
from gateway.shadows import narrow
from gateway.shadows.ask import Told, hear, most_microusd, spent_microusd
from gateway.shadows.capture import MOST_BYTES, Capture, joined, said_in
from gateway.shadows.chapter import Chapter, counted
from gateway.shadows.circuit import Circuit
from gateway.shadows.compare import Comparer, NotCompared, edit_distance
from gateway.shadows.keeper import Shadows
from gateway.shadows.libraries import require
from gateway.shadows.reach import Reach
from gateway.shadows.rollouts import Rollouts
from gateway.shadows.shelf import Shelf
from gateway.shadows.till import Till
from gateway.telemetry.unseen import NullObservation
from policies.catalogue import Fits, Model, Price, Run
from policies.decision import Call, Decision
from policies.escalate.said import Said, Wanted
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Policy, Route
from policies.shadows.evidence import learnt
from policies.shadows.plan import Shadow
from policies.snapshot import Snapshot

CHUNK = b'{"choices":[{"index":0,"delta":{"content":"%b"},"finish_reason":null}]}'


async def test_what_was_captured_is_what_was_said_and_an_attempt_before_it_is_forgotten():
    capture = Capture()
    capture.hear(Delta("lost"))
    capture.forget()
    for word in (b"Hel", b"lo"):
        capture.hear(Wire(CHUNK % word, speaks=True))
    capture.hear(Finish("stop"))

    said = await said_in(capture.events)

    assert (said.text, said.ending) == ("Hello", "stop")


def test_an_answer_that_is_too_long_is_not_kept_at_all():
    capture = Capture()
    for _ in range(3):
        capture.hear(Delta("x" * (MOST_BYTES // 2)))

    assert not capture.is_all
    assert capture.events == []


def test_several_ears_hear_the_same_and_none_is_none():
    one, other = Capture(), Capture()
    joined(one, None, other).hear(Delta("a"))

    assert one.events == other.events == [Delta("a")]
    assert joined(one, None) is one
    assert joined(None, None) is None


class Pieces:
    status = 200

    def __init__(self, kind: str, *pieces: bytes) -> None:
        self.headers = {"content-type": kind}
        self._pieces = [*pieces, b""]

    async def read(self) -> bytes:
        return self._pieces.pop(0)

    async def aclose(self, *, whole: bool = False) -> None:
        """Nothing is open."""


async def test_an_answer_comes_in_small_bites_and_all_of_it():
    whole = bytes(range(256)) * 40
    response = narrow.NarrowResponse(Pieces("application/json", whole[:7_000], whole[7_000:]), narrow.Turns(0.0))
    bites = []
    while bite := await response.read():
        bites.append(bite)

    assert b"".join(bites) == whole
    assert max(map(len, bites)) <= narrow.BITE_BYTES


async def everything(response: narrow.NarrowResponse) -> None:
    while await response.read():
        pass


def test_all_shadows_together_take_their_bites_one_after_another():
    turns = narrow.Turns(0.001)

    waits = [turns.wait_s(5.0) for _ in range(1_000)]

    assert waits == pytest.approx([number / 1_000 for number in range(1_000)])
    assert turns.wait_s(60.0) == 0.0, "who comes later waits for nobody who is gone"


async def test_an_answer_without_end_ends_at_a_bound():
    response = narrow.NarrowResponse(Pieces("application/json", *[b"x" * 65_536] * 20), narrow.Turns(0.0))
    with pytest.raises(TransportError, match="longer than is compared"):
        await everything(response)


class Answers:
    def __init__(self, *events: object) -> None:
        self._events = events
        self.closed = False

    async def __aiter__(self):
        for event in self._events:
            yield event

    async def aclose(self) -> None:
        self.closed = True


async def test_a_call_is_heard_to_its_end_and_one_that_has_none_failed():
    whole, cut = Answers(Delta("a"), Finish("stop"), Usage(3, 1)), Answers(Delta("a"))

    heard, lost = await hear(whole, 5), await hear(cut, 5)

    assert (heard.said.text, heard.usage, heard.failed) == ("a", Usage(3, 1), "")
    assert (lost.said, lost.failed) == (None, "stream_cut")
    assert whole.closed
    assert cut.closed


def test_what_a_call_may_cost_is_never_less_than_what_it_costs():
    model = Model(name="b", price=Price(10_000_000, 10_000_000, 20_000_000), fits=Fits(output=50))
    request = ChatRequest(raw=b"x" * 100, model="auto", messages=(), n=2, max_tokens=40)

    most = most_microusd(model, request, Facts(prompt_tokens=20))

    assert most == (100 + 20) * 10 + 2 * 40 * 20
    assert spent_microusd(Told(usage=Usage(100, 80)), model.price, most) <= most
    assert spent_microusd(Told(failed="total_timeout"), model.price, most) == most
    assert spent_microusd(Told(failed="connect_failed", sent=False), model.price, most) == 0


async def test_calls_at_once_never_set_more_aside_than_the_cap_and_a_kill_forgets_nothing(tmp_path: Path):
    till = Till(tmp_path, now=lambda: 1e9)
    granted = sum(await asyncio.gather(*[till.reserve("s", 30, 100) for _ in range(9)]))
    after_kill = Till(tmp_path, now=lambda: 1e9)

    assert granted == 3
    assert till.taken("s") == 90
    assert 90 <= after_kill.taken("s") <= 100
    assert not await after_kill.reserve("s", 30, 100)
    assert await Till(tmp_path, now=lambda: 1e9 + 86_400).reserve("s", 30, 100), "another day"


async def test_a_disk_that_cannot_be_written_spends_nothing(tmp_path: Path):
    till = Till(tmp_path / "not there")

    assert not await till.reserve("s", 30, 100)
    assert till.taken("s") == 0


def test_a_model_that_fails_is_left_alone_and_the_others_take_turns():
    circuit = Circuit()
    for _ in range(3):
        circuit.learn("a", Told(failed="total_timeout"))

    assert {circuit.choice(["a", "b", "c"]) for _ in range(6)} == {"b", "c"}
    assert circuit.choice(["a"]) is None
    for _ in range(5):
        circuit.learn("b", Told(failed="rejected", status=400))
    assert circuit.choice(["b"]) == "b"


def test_edits_are_counted_in_words():
    assert edit_distance(Said(text="one two three"), Said(text="one too three")) == pytest.approx(1 / 3)
    assert edit_distance(Said(), Said()) == 0.0


async def test_an_encoder_that_fails_is_told_of_and_no_verdict():
    def fails():
        raise RuntimeError("no such model")

    comparer = Comparer(fails)

    assert await comparer.compare(Said(text="a"), Said(text="a"), Wanted(), ["embedding"]) == {"embedding": 0.0}
    with pytest.raises(NotCompared, match="no such model"):
        await comparer.compare(Said(text="a"), Said(text="b"), Wanted(), ["embedding"])


class Encoder:
    """Vectors of three texts that one can tell the angles of; `asked` are the texts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.closed = False

    def submit(self, text: str) -> "Future[np.ndarray]":
        self.asked.append(text)
        found: Future[np.ndarray] = Future()
        found.set_result(np.array({"east": (1.0, 0.0), "north-east": (0.6, 0.8), "north": (0.0, 1.0)}[text]))
        return found

    def close(self) -> None:
        self.closed = True


async def test_meaning_is_the_angle_between_embeddings_and_the_encoder_is_opened_once():
    encoder, opened = Encoder(), []
    comparer = Comparer(lambda: opened.append(1) or encoder)

    near = await comparer.compare(Said(text="east"), Said(text="north-east"), Wanted(), ["embedding"])
    far = await comparer.compare(Said(text="east"), Said(text=" north "), Wanted(), ["embedding"])
    silent = await comparer.compare(Said(text="east"), Said(), Wanted(), ["embedding"])
    await comparer.aclose()

    assert near == {"embedding": pytest.approx(0.4)}
    assert far == {"embedding": pytest.approx(1.0)}
    assert silent == {}
    assert opened == [1]
    assert encoder.closed


def test_a_library_that_is_missing_is_told_with_the_line_that_adds_it():
    from gateway.extras import needs

    line = r"needs no_such_library: run `pip install -e '.\[shadow\]'`"
    with pytest.raises(BadSettings, match=line), needs("shadow", "a shadow compares by edit"):
        require("no_such_library")


def test_the_command_tells_a_verdict_in_words_and_as_json(tmp_path: Path):
    evidence = {}
    for number in range(60):
        evidence = learnt(evidence, {"exact": 100}, {"exact": 100 * (number % 10 == 0)})
    chapter = Chapter(
        name="s", to="small", print="p", begun_at=1.0, evidence=evidence, twice=60, cap_microusd=5_000_000
    )
    for _ in range(60):
        chapter = counted(chapter, "compared")
    shelf = Shelf(tmp_path)
    shelf.claim()
    shelf.write(chapter)

    words = CliRunner().invoke(app, ["shadow", "status", "--dir", str(tmp_path)])
    data = CliRunner().invoke(app, ["shadow", "status", "s", "--dir", str(tmp_path), "--json"])
    nothing = CliRunner().invoke(app, ["shadow", "status", "other", "--dir", str(tmp_path)])

    assert "small differs from the answer by more than that does from itself: exact." in words.output
    (told,) = json.loads(data.stdout)
    assert told["findings"][0]["says"] == "differs"
    assert told["findings"][0]["excess"]["low"] > 0.5
    assert nothing.exit_code == 2


class Engine:
    """An upstream of this process that tells how it was asked."""

    def __init__(self) -> None:
        self.calls: list[UpstreamCall] = []

    def prepare(self, request: ChatRequest, salt: bytes) -> Prepared:
        return Prepared(tokens=3, exact=True, token_ids=(1, 2, 3), salt=salt)

    async def start(self, call: UpstreamCall) -> Answers:
        self.calls.append(call)
        return Answers(Delta("Paris"), Finish("stop"), Usage(3, 1))

    def load(self) -> Load:
        return Load()

    def resident_tokens(self, prepared: Prepared) -> int | None:
        return None

    async def aclose(self) -> None:
        """Nothing is open."""


REQUEST = ChatRequest(raw=b"{}", model="auto", messages=())
SHADOW = Shadow(name="s", to="b", routes=frozenset({"r"}), sample=1.0)


def live_of(engine: Engine) -> Live:
    models = {"m": Model(name="m", at=("http://m",)), "b": Model(name="b", run=Run(weights="none"))}
    route = Route(name="r", use="m")
    policy = Policy(hash="0" * 16, name="p", models=models, routes=(route,), shadows=(SHADOW,))
    replica = Replica("b", models["b"].replicas[0], "b", is_local=True, upstream=engine)
    return Live(policy, {"m": (), "b": (replica,)})


def shadows_of(live: Live, *, inside=lambda: 0) -> Shadows:
    def never():
        raise AssertionError("no encoder is needed")

    reach = Reach(narrow.NarrowTransport(FastTransport()))
    rollouts = Rollouts(dict, never, None)
    ends = (lambda *_: None, lambda _: None, rollouts)
    found = Shadows(lambda: live, reach, Till(None), Comparer(never), *ends, inside=inside)
    found.policy_loaded(live)
    return found


def hand_over(shadows: Shadows, live: Live) -> None:
    """A request that `m` has answered."""
    decision = Decision(steps=(Call("m", "r"),), route="r", reason="", policy_hash="")
    judged = Judged(Facts(), Estimate(abstains="no"), decision, Snapshot(replicas={}), {})
    drawn = shadows.drawn(live, Asks(), REQUEST, judged, b"tenant")
    assert drawn is not None
    drawn.capture.hear(Delta("Paris"))
    drawn.capture.hear(Finish("stop"))
    told = {"request_id": "r1", "dialect": "openai_chat", "tenant": "t", "stream": True, "status": 200, "attempts": 1}
    shadows.settled(drawn, Settlement(**told, end="stop", duration_ms=1.0, answered_by=Call("m", "r")))


class Asks:
    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.observation = NullObservation()


async def until(condition) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  what is waited for does not announce itself
            await asyncio.sleep(0)


async def test_an_engine_of_this_process_is_asked_behind_everybody_with_a_prompt_that_is_nobody_elses():
    engine = Engine()
    live = live_of(engine)
    shadows = shadows_of(live)
    following = asyncio.create_task(shadows.follow(), name="follow")
    hand_over(shadows, live)
    await until(lambda: shadows.chapters["s"].results)
    following.cancel()

    (call,) = engine.calls
    assert call.priority == GIVES_WAY
    assert call.prepared.salt not in (b"", b"tenant")
    assert shadows.chapters["s"].results == {"compared": 1}
    assert shadows.chapters["s"].evidence["exact"].shadow == {0: 1}


async def test_requests_that_are_inside_go_before_a_call_for_comparison():
    engine, inside = Engine(), [1]
    live = live_of(engine)
    shadows = shadows_of(live, inside=lambda: inside[0])
    following = asyncio.create_task(shadows.follow(), name="follow")
    hand_over(shadows, live)
    for _ in range(50):
        await asyncio.sleep(0)
    asked_meanwhile = len(engine.calls)
    inside[0] = 0
    await until(lambda: shadows.chapters["s"].results)
    following.cancel()

    assert asked_meanwhile == 0
    assert len(engine.calls) == 1

"""Parts of shadows by themselves: what is captured, how answers are bounded, what the command tells."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from backends.messages import ChatRequest, Delta, Finish, Usage, Wire
from backends.transport import TransportError
from gateway.cli import app
from gateway.request.identity import BadSettings
from gateway.shadows import narrow
from gateway.shadows.ask import Told, hear, most_microusd, spent_microusd
from gateway.shadows.capture import MOST_BYTES, Capture, joined, said_in
from gateway.shadows.chapter import Chapter, counted
from gateway.shadows.circuit import Circuit
from gateway.shadows.compare import Comparer, NotCompared, edit_distance
from gateway.shadows.libraries import require
from gateway.shadows.shelf import Shelf
from gateway.shadows.till import Till
from policies.catalogue import Fits, Model, Price
from policies.escalate.said import Said, Wanted
from policies.facts import Facts
from policies.shadows.evidence import learnt

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
    response = narrow.NarrowResponse(Pieces("application/json", whole[:7_000], whole[7_000:]))
    bites = []
    while bite := await response.read():
        bites.append(bite)

    assert b"".join(bites) == whole
    assert max(map(len, bites)) <= narrow.BITE_BYTES


async def everything(response: narrow.NarrowResponse) -> None:
    while await response.read():
        pass


async def test_an_answer_without_end_ends_at_a_bound():
    response = narrow.NarrowResponse(Pieces("application/json", *[b"x" * 65_536] * 20))
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

"""Races of two replicas in virtual time, whatever each does and when: one voice, the loser closed at once, nothing held."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.cascade_world import Client, Scripted, Spoken, cut, fresh_world, loop_time
from servers.virtual_time import run_virtual

from backends.dialects.openai_chat.dialect import OpenAIChat
from backends.dialects.openai_chat.request import read_chat
from backends.errors import UpstreamError
from backends.messages import Delta, Finish, Usage
from backends.upstream import UpstreamCall
from gateway.errors import RouterError
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.affinity import Affinity
from gateway.request.drive import drive
from gateway.request.egress import StreamEgress
from gateway.request.escalate.cascade import cascade_of
from gateway.request.identity import ANONYMOUS
from gateway.request.job import Job
from gateway.request.judge import judge
from gateway.request.owner import Owner
from gateway.request.settle import Books
from gateway.telemetry.unseen import NullObservation
from policies.catalogue import Model, Price
from policies.hedging.plan import Hedging
from policies.policy import Policy, Resilience, Route

AFTER_S = 1.0
PRICE = Price(1_000_000, 1_000_000, 4_000_000)
POLICY = Policy(
    hash="h",
    name="p",
    models={"m": Model(name="m", at=("a", "b"), price=PRICE)},
    routes=(Route(name="r", use="m"),),
    resilience=Resilience(attempts=1, first_content_s=30.0, hedge=Hedging(after_s=AFTER_S)),
)


@dataclass(frozen=True)
class Does:
    """After so many seconds it speaks, or fails as `kind` says."""

    after_s: float
    kind: str = ""


@dataclass
class Track:
    """Who was asked, in order; each does as it is told."""

    doing: Sequence[Does]
    voices: "list[Voice]" = field(default_factory=list)


class Voice(Scripted):
    """One replica. As any that is elsewhere, it begins with its first content in hand."""

    def __init__(self, track: Track) -> None:
        super().__init__(())
        self._track = track
        self.asked_at = self.cancelled_at = -1.0

    async def start(self, call: UpstreamCall) -> Spoken:
        place, self.asked_at = len(self._track.voices), loop_time()
        self._track.voices.append(self)
        does = self._track.doing[place]
        try:
            await asyncio.sleep(does.after_s)
        except asyncio.CancelledError:
            self.cancelled_at = loop_time()
            raise
        if does.kind:
            raise UpstreamError(does.kind, "broken", sent=True, status=500)  # type: ignore[arg-type]
        word = Delta("xy"[place], 0)
        spoken = Spoken([(0.0, word), (0.5, word), (0.0, Finish("stop")), (0.0, Usage(10, 2))])
        self.answers.append(spoken)
        return spoken


@dataclass
class Ran:
    track: Track
    client: Client
    books: Books
    error: RouterError | None
    began_at: float
    left: bool = False


async def run(doing: Sequence[Does], *, allowed: bool, cut_at: Sequence[int] = ()) -> Ran:
    """`cut_at`: after so many turns of the loop it is cancelled."""
    track, world = Track(doing), fresh_world()
    live = Live(POLICY, {"m": tuple(Replica("m", name, name, upstream=Voice(track)) for name in "ab")})
    world.hedges.allowance.came(1.0 if allowed else 0.0)
    request = read_chat(
        json.dumps({"messages": [{"role": "user", "content": "q"}], "model": "auto", "stream": True}).encode()
    )
    client, books = Client(), Books("req_1", "openai_chat")
    ran = Ran(track, client, books, None, loop_time())
    out = StreamEgress(OpenAIChat(), client, request, "id", silence_s=60)

    async def serve() -> None:
        async with aclosing(Owner(live, NullObservation())) as owner:
            judged = await judge(live, request, ANONYMOUS, {}, world)
            cascade = cascade_of(POLICY, request, judged, world.escalations, books)
            total_at = loop_time() + POLICY.resilience.total_s
            affinity, hedges = Affinity(live, world.residency), world.hedges
            job = Job(live, request, b"", judged, affinity, owner, out, books, cascade, total_at, hedges=hedges)
            await drive(job)

    serving = asyncio.create_task(serve())
    cut(serving, cut_at)
    try:
        await serving
    except RouterError as error:
        ran.error = error
    except asyncio.CancelledError:
        ran.left = True
    finally:
        out.close()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}, "something is left running"
    assert not any(replica.running or replica.queued_tokens for replica in live), "load is left"
    assert all(answer.closed_at is not None for voice in track.voices for answer in voice.answers), "an answer is open"
    return ran


moments = st.sampled_from([0.0, 0.25, 0.999, 1.5, 2.0, 3.25, 20.0])
deeds = st.builds(Does, moments, st.sampled_from(["", "", "", "stream_cut", "rejected", "overloaded"]))


@settings(max_examples=300)
@given(deeds, deeds, st.booleans())
def test_one_voice_answers_and_the_other_is_closed_in_the_same_instant(
    first: Does, second: Does, allowed: bool
) -> None:
    async def race() -> None:
        ran = await run((first, second), allowed=allowed)
        raced = allowed and first.after_s > AFTER_S
        ends = {0: first.after_s, 1: AFTER_S + second.after_s}
        speaks = [place for place in ends if not (first, second)[place].kind and (not place or raced)]
        winner = min(speaks, key=ends.__getitem__, default=None)

        assert len(ran.track.voices) == 1 + raced
        assert ran.books.attempts == 1 + raced
        if winner is None:
            assert ran.error is not None
            assert ran.client.text == ""
            return
        loser = ran.track.voices[1 - winner] if raced else None
        assert ran.client.text == "xy"[winner] * 2
        assert ran.client.ends == 1
        assert ran.client.pieces[0][0] - ran.began_at == ends[winner]
        hedged = ran.books.hedged
        assert (hedged is not None) == raced
        if hedged is None or loser is None:
            return
        deed, end = (first, second)[1 - winner], ends[1 - winner]
        failed_before = deed.kind and end < ends[winner]
        assert hedged.result == ("won" if winner else "failed" if failed_before else "cancelled")
        assert failed_before or loser.cancelled_at - ran.began_at == ends[winner]
        assert ran.books.microusd == 10 + 2 * 4 + (0 if failed_before else 10)

    run_virtual(race())


def test_two_that_fail_are_both_told_of() -> None:
    async def race() -> None:
        ran = await run((Does(3.0, "stream_cut"), Does(0.5, "overloaded")), allowed=True)
        assert ran.error is not None
        assert ran.error.code == "upstream_disconnected"
        assert ran.books.hedged is not None
        assert (ran.books.hedged.result, ran.books.microusd) == ("failed", 0)

    run_virtual(race())


@pytest.mark.parametrize(
    ("first", "second"),
    [(Does(3.0), Does(0.5)), (Does(2.0), Does(5.0)), (Does(2.0), Does(1.0)), (Does(3.0, "stream_cut"), Does(5.0))],
    ids=["the second wins", "the first wins", "both at once", "the first fails"],
)
def test_a_race_that_is_cancelled_in_any_turn_holds_nothing_and_charges_who_was_asked_beside(
    first: Does, second: Does
) -> None:
    def left(*cut_at: int) -> bool:
        ran: list[Ran] = []

        async def race() -> None:
            ran.append(await run((first, second), allowed=True, cut_at=cut_at))

        run_virtual(race())
        assert (ran[0].books.hedged is not None) == (len(ran[0].track.voices) > 1)
        return ran[0].left

    turns = next(turn for turn in count(1) if not left(turn))
    assert turns > 3
    assert all(left(turn, turn + later) for turn in range(1, turns) for later in (1, 2))

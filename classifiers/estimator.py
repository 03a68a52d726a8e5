"""The estimate of a conversation, within a time budget or not at all."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from pathlib import Path

from classifiers import artefact as artefacts
from classifiers.artefact import Artefact
from classifiers.embed import ChildEmbedder, Embedder
from classifiers.encoder import Vectors, find_encoder
from classifiers.heads.inputs import read_inputs
from classifiers.memory import Memory
from classifiers.outside import outside, turns_with_text
from classifiers.question import Question
from classifiers.text import cut, digest
from classifiers.turns import Chances, prefixes
from policies.estimates import Calibration, Estimate

REMEMBERED_TURNS = 65_536
_NOW_WITHIN_S = 60.0


class Estimator:
    """Scores each turn of a user once, remembers it by digest, and combines the turns of a conversation.

    The embedder works elsewhere and the heads are scored on its thread, so on the event loop an estimate costs
    hashing and look-ups. An embedding that comes too late for its request is kept for the next one.
    """

    def __init__(self, artefact: Artefact, embedder: Embedder, clock: Callable[[], float] = time.perf_counter) -> None:
        self._artefact = artefact
        self._embedder = embedder
        self._clock = clock
        self._name = artefact.manifest.digest[:12]
        self._known: Memory[Chances] = Memory(REMEMBERED_TURNS)
        self._underway: dict[bytes, Future[Chances]] = {}

    @property
    def calibration(self) -> Calibration:
        """Held-out prompts' chances, for solving thresholds."""
        return self._artefact.calibration

    async def estimate(self, question: Question, within_s: float) -> Estimate:
        """The estimate, or one that abstains and says why when it isn't ready within `within_s`. Never raises."""
        started = self._clock()
        turns = turns_with_text(question)
        waiting = [] if outside(question) else self._ask(turns)
        if waiting:
            await _settled(waiting, within_s)
        return self._conclude(question, turns, waiting, started, within_s)

    def estimate_now(self, question: Question) -> Estimate:
        """The same without an event loop, with a minute's patience: for start-up, checks and the command line."""
        started = self._clock()
        turns = turns_with_text(question)
        waiting = [] if outside(question) else self._ask(turns)
        wait(waiting, timeout=_NOW_WITHIN_S)
        return self._conclude(question, turns, waiting, started, _NOW_WITHIN_S)

    async def aclose(self) -> None:
        """Stops the embedder."""
        await asyncio.to_thread(self._embedder.close)

    def _ask(self, turns: Sequence[str]) -> "list[Future[Chances]]":
        """Futures of the turns that are not known yet; a turn that is already underway is not asked for again."""
        futures = {key: self._score(key, turn) for turn in turns if self._known.get(key := digest(turn)) is None}
        return list(futures.values())

    def _score(self, key: bytes, turn: str) -> "Future[Chances]":
        if key in self._underway:
            return self._underway[key]
        scored: Future[Chances] = Future()
        scored.set_running_or_notify_cancel()  # who stops waiting must not cancel it for the others
        self._underway[key] = scored
        self._embedder.submit(cut(turn)).add_done_callback(lambda embedded: self._settle(key, turn, embedded, scored))
        return scored

    def _settle(self, key: bytes, turn: str, embedded: "Future[Vectors]", scored: "Future[Chances]") -> None:
        """Runs where the embedding arrived: on the embedder's thread."""
        try:
            row = self._artefact.blend.p_good(read_inputs([turn], embedded.result()[None, :]))[0]
            self._known.put(key, tuple(row.tolist()))
            scored.set_result(tuple(row.tolist()))
        except Exception as error:  # whatever went wrong is the future's to carry; an abstaining estimate names it
            scored.set_exception(error)
        finally:
            self._underway.pop(key, None)

    def _conclude(
        self,
        question: Question,
        turns: Sequence[str],
        waiting: "Sequence[Future[Chances]]",
        started: float,
        within_s: float,
    ) -> Estimate:
        reason = outside(question) or _unready(waiting, within_s)
        took_us = round((self._clock() - started) * 1e6)
        chances = [self._known.get(digest(turn)) for turn in turns] if not reason else []
        known = [row for row in chances if row is not None]
        if reason or len(known) < len(turns):
            return Estimate(abstains=reason or "forgotten too soon", artefact=self._name, took_us=took_us)
        rows = [dict(zip(self._artefact.manifest.heads, row, strict=True)) for row in prefixes(known)]
        return Estimate(p_good=rows[-1], earlier=tuple(rows[:-1]), artefact=self._name, took_us=took_us)


async def _settled(waiting: "Sequence[Future[Chances]]", within_s: float) -> None:
    """Waits for all of them, or for `within_s`."""
    here = [asyncio.wrap_future(future) for future in waiting]
    try:
        await asyncio.wait(here, timeout=within_s)
    finally:
        for future in here:
            if not future.cancel() and not future.cancelled():
                future.exception()  # read here, or asyncio reports it as never retrieved


def open_estimator(artefact: Path | None = None, embedder: str | None = None) -> Estimator:
    """Verifies the artefact, starts the encoder's process and waits until it has answered once: some seconds.

    None means what is shipped: the artefact in classifiers/shipped, the encoder all-MiniLM-L6-v2. `embedder` is a
    directory or a hub name. Raises ArtefactRefused, EncoderMissing, EmbedderFailed.
    """
    opened = artefacts.load(artefact or artefacts.SHIPPED)
    child = ChildEmbedder(find_encoder(embedder))
    try:
        artefacts.check_encoder(opened, child.submit(artefacts.PROBE_TEXT).result())
    except BaseException:
        child.close()
        raise
    return Estimator(opened, child)


def _unready(waiting: "Sequence[Future[Chances]]", within_s: float) -> str:
    late = sum(not future.done() for future in waiting)
    if late:
        return f"{late} of {len(waiting)} embeddings not ready within {within_s * 1000:.0f} ms"
    failed = next((error for future in waiting if (error := future.exception())), None)
    return f"{type(failed).__name__}: {failed}" if failed else ""

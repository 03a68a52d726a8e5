"""The estimate of a conversation, within a time budget or not at all."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from classifiers import artefact as artefacts
from classifiers.artefact import Artefact
from classifiers.doubt import doubt
from classifiers.embed import ChildEmbedder, Embedder, after_all
from classifiers.encoder import Vectors, find_encoder
from classifiers.features import lexical_of
from classifiers.glance import Glance, Glances
from classifiers.heads.inputs import Inputs, read_inputs
from classifiers.memory import Memory
from classifiers.numbers import Numbers
from classifiers.outside import outside, outside_of, with_text
from classifiers.packing import make_of, pack
from classifiers.question import Question
from classifiers.readings import lower, readings
from classifiers.static import open_static
from classifiers.text import cut, cut_of, name_of
from classifiers.turns import Chances, prefixes
from classifiers.underway import Scored, Underway, settled, unready
from policies.estimates import Calibration, Estimate, Stage, Unsettled

REMEMBERED_TURNS = 16_384
"""20 MB when full: .85 KB of the quick stage, .4 KB of the encoder's."""

REMEMBERED_VECTORS = 2_048
"""For logs that keep numbers: 3 MB when full."""

_NOW_WITHIN_S = 60.0


class Estimator:
    """Scores each turn of a user once, remembers it by digest, and combines the turns of a conversation.

    The quick stage speaks first, where there is one and its caller tells for which prefixes it does not suffice; the turns of
    those are embedded. The embedder works elsewhere and the heads are scored on its thread, so on the event loop an estimate
    costs hashing, the quick stage and look-ups. An embedding that comes too late for its request is kept for the next one.
    """

    def __init__(self, artefact: Artefact, embedder: Embedder, clock: Callable[[], float] = time.perf_counter) -> None:
        self._artefact = artefact
        self._embedder = embedder
        self._clock = clock
        self._name = artefact.calibration.artefact
        self._glances = Glances(artefact, open_static(), REMEMBERED_TURNS) if artefact.stages else None
        self._known: Memory[Scored] = Memory(REMEMBERED_TURNS)
        self._vectors: Memory[Vectors] = Memory(REMEMBERED_VECTORS)
        self._underway: dict[bytes, Future[Scored]] = {}

    @property
    def calibration(self) -> Calibration:
        """Held-out prompts' chances, for solving thresholds."""
        return self._artefact.calibration

    async def estimate(self, question: Question, within_s: float, unsettled: Unsettled | None = None) -> Estimate:
        """The estimate, or one that abstains and says why when it isn't ready within `within_s`. Never raises.

        Without `unsettled` every turn is embedded.
        """
        found = self.begin(question, within_s, unsettled)
        return found if isinstance(found, Estimate) else await found

    def begin(
        self, question: Question, within_s: float, unsettled: Unsettled | None = None
    ) -> Estimate | Awaitable[Estimate]:
        """The same at once where no turn has to be embedded."""
        asked = self._begin(question, unsettled)
        return self._when_settled(asked, within_s) if asked.waiting else self._conclude(asked, within_s)

    async def _when_settled(self, asked: Underway, within_s: float) -> Estimate:
        await settled(asked.waiting, within_s)
        return self._conclude(asked, within_s)

    def estimate_now(self, question: Question, unsettled: Unsettled | None = None) -> Estimate:
        """The same without an event loop, with a minute's patience: for start-up, checks and the command line."""
        asked = self._begin(question, unsettled)
        wait(asked.waiting, timeout=_NOW_WITHIN_S)
        return self._conclude(asked, _NOW_WITHIN_S)

    def numbers(self, question: Question) -> Callable[[], Numbers | None]:
        """What is to be asked, from any thread, for what heads read of the newest turn, which is embedded for that where the
        quick stage sufficed; None as long as it is not known, or where no estimate is made of it."""
        if outside(question):
            return lambda: None
        turn = question.turns[-1]
        [key], make = keys_of(Question((turn,), question.names[-1:])), make_of(self._artefact.manifest.encoder)
        if self._vectors.get(key) is None:
            self._score(key, turn)

        def read() -> Numbers | None:
            vector = self._vectors.get(key)
            if vector is None:
                return None
            return pack(read_inputs([turn], vector[None, :]), make, open_static().vector(cut(turn)))

        return read

    async def aclose(self) -> None:
        """Stops the embedder."""
        await asyncio.to_thread(self._embedder.close)

    def _begin(self, question: Question, unsettled: Unsettled | None) -> Underway:
        """Everything but waiting: what the quick stage says, and the turns that are being embedded."""
        started, asks = self._clock(), with_text(question)
        turns = asks.turns
        if reason := outside_of(asks):
            return Underway(started, reason=reason)
        keys = keys_of(asks)
        glance = self._glances.glance(keys, turns) if self._glances and unsettled else None
        if glance is None or unsettled is None:
            return self._ask(Underway(started, keys, tuple(range(len(turns)))), turns)
        unclear = tuple(unsettled(glance.span))
        asked = Underway(started, keys, unclear, glance)
        return self._ask(asked, turns) if unclear else asked

    def _ask(self, asked: Underway, turns: Sequence[str]) -> Underway:
        """With what is known of the turns up to the last that is unclear, and the futures of the others; a turn that is already
        underway is not asked for again."""
        keys = asked.keys[: max(asked.unclear) + 1]
        known = [self._known.get(key) for key in keys]
        if None not in known:
            return replace(asked, known=known)
        open_ = {key: turn for key, turn, found in zip(keys, turns, known, strict=False) if found is None}
        return replace(asked, known=known, waiting=[self._score(key, turn) for key, turn in open_.items()])

    def _score(self, key: bytes, turn: str) -> "Future[Scored]":
        if key in self._underway:
            return self._underway[key]
        scored: Future[Scored] = Future()
        scored.set_running_or_notify_cancel()  # who stops waiting must not cancel it for the others
        self._underway[key] = scored
        read = readings(turn)
        asked = [self._embedder.submit(cut_of(text)) for text in read]
        after_all(asked, lambda: self._settle(key, read, asked, scored))
        return scored

    def _settle(
        self, key: bytes, read: Sequence[str], asked: "Sequence[Future[Vectors]]", scored: "Future[Scored]"
    ) -> None:
        """Runs where the last embedding arrived: on the embedder's thread."""
        try:
            vectors = [embedded.result() for embedded in asked]
            found = self._scored(read, vectors)
            self._known.put(key, found)
            self._vectors.put(key, vectors[0])
            scored.set_result(found)
        except Exception as error:  # whatever went wrong is the future's to carry; an abstaining estimate names it
            scored.set_exception(error)
        finally:
            self._underway.pop(key, None)

    def _scored(self, read: Sequence[str], vectors: Sequence[Vectors]) -> Scored:
        """One row at a time, for a lone row does without BLAS."""
        inputs = [
            Inputs(vector[None, :], lexical_of(text)[None, :]) for text, vector in zip(read, vectors, strict=True)
        ]
        rows = np.vstack([self._artefact.blend.p_good(one) for one in inputs])
        at = lower(rows, self._artefact.manifest.heads)
        return Scored(tuple(rows[at].tolist()), doubt(self._artefact, read[at], vectors[at]))

    def _conclude(self, asked: Underway, within_s: float) -> Estimate:
        took_us = round((self._clock() - asked.started) * 1e6)
        if asked.glance is not None and not asked.unclear:
            return self._estimate(asked.glance.likely, took_us, "quick", asked.glance)
        reason, known = asked.reason, [found for found in asked.known if found is not None]
        if asked.waiting:
            reason = unready(asked.waiting, within_s)
            heard = [self._known.get(key) for key in asked.keys[: len(asked.known)]]
            known = [found for found in heard if found is not None]
        reason = reason or ("forgotten too soon" if len(known) < len(asked.known) else "")
        if not reason and asked.is_full:
            reason = known[-1].doubt
        if reason:
            return Estimate(abstains=reason, artefact=self._name, took_us=took_us)
        return self._estimate(self._rows(asked, known), took_us, "full" if asked.is_full else "quick", asked.glance)

    def _estimate(
        self, rows: Sequence[Mapping[str, float]], took_us: int, stage: Stage, glance: Glance | None
    ) -> Estimate:
        return Estimate(
            p_good=rows[-1],
            earlier=tuple(rows[:-1]),
            artefact=self._name,
            took_us=took_us,
            stage=stage,
            ends=None if glance is None else glance.ends,
        )

    def _rows(self, asked: Underway, known: Sequence[Scored]) -> list[Mapping[str, float]]:
        """Chances of each prefix: what the encoder made of it where the quick stage did not suffice. One whose newest turn
        was in doubt has none."""
        full = prefixes([found.chances for found in known])
        if asked.glance is None:
            rows = [self._named(chances) for chances in full]
        else:
            rows = list(asked.glance.likely)
        for at in asked.unclear:
            rows[at] = {} if known[at].doubt else self._named(full[at])
        return rows

    def _named(self, chances: Chances) -> Mapping[str, float]:
        return dict(zip(self._artefact.manifest.heads, chances, strict=True))


def keys_of(question: Question) -> list[bytes]:
    """What its turns are remembered by."""
    names, keys = question.names, []
    for at, turn in enumerate(question.turns):
        keys.append((names and names[at]) or name_of(turn))
    return keys


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

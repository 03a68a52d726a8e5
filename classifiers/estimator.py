"""The estimate of a conversation, within a time budget or not at all."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path

import numpy as np

from classifiers import artefact as artefacts
from classifiers.artefact import Artefact
from classifiers.embedding.embedder import ChildEmbedder, Embedder, after_all
from classifiers.embedding.encoder import Vectors, encoder_for
from classifiers.embedding.memory import Memory
from classifiers.embedding.static import open_static
from classifiers.features.lexical import lexical_of
from classifiers.features.numbers import Numbers
from classifiers.features.packing import make_of, pack
from classifiers.features.text import cut, cut_of, name_of
from classifiers.glance import Glance, Glances, Rows
from classifiers.heads.inputs import Inputs, read_inputs
from classifiers.question import Question
from classifiers.reading.readings import lower, readings
from classifiers.turns import Chances, prefixes
from classifiers.underway import Places, Scored, Underway, settled, unready
from classifiers.unfamiliar.doubt import judged
from classifiers.unfamiliar.outside import outside, outside_of, with_text
from classifiers.unfamiliar.spoken import language_of
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
        return asked if isinstance(asked, Estimate) else self._when_settled(asked, within_s)

    async def _when_settled(self, asked: Underway, within_s: float) -> Estimate:
        await settled(asked.waiting, within_s)
        return self._heard(asked, within_s)

    def estimate_now(self, question: Question, unsettled: Unsettled | None = None) -> Estimate:
        """The same without an event loop, with a minute's patience: for start-up, checks and the command line."""
        asked = self._begin(question, unsettled)
        if isinstance(asked, Estimate):
            return asked
        wait(asked.waiting, timeout=_NOW_WITHIN_S)
        return self._heard(asked, _NOW_WITHIN_S)

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

    def close(self) -> None:
        """Gives the embedder back. Blocks for a moment."""
        self._embedder.close()

    async def aclose(self) -> None:
        """The same, for an event loop."""
        await asyncio.to_thread(self.close)

    def _begin(self, question: Question, unsettled: Unsettled | None) -> Estimate | Underway:
        """Everything but waiting: what the quick stage says, and the turns that are being embedded, where any are."""
        started, asks = self._clock(), with_text(question)
        turns = asks.turns
        if reason := outside_of(asks):
            return self._abstains(reason, started, language_of(turns))
        keys = keys_of(asks)
        if self._glances is None or unsettled is None:
            return self._ask(keys, turns, tuple(range(len(turns))), None, started)
        glance = self._glances.glance(keys, turns)
        unclear = tuple(unsettled(glance.span))
        if not unclear:
            return self._estimate(glance.likely, started, "quick", glance, glance.language)
        asked, rows, stage = glance.heard
        if unclear == asked:
            return self._estimate(rows, started, stage, glance, glance.language)
        return self._ask(keys, turns, unclear, glance, started)

    def _ask(
        self, keys: Sequence[bytes], turns: Sequence[str], unclear: Places, glance: Glance | None, started: float
    ) -> Estimate | Underway:
        """With what is known of the turns up to the last that is unclear, and the futures of the others; a turn that is already
        underway is not asked for again."""
        language = language_of(turns) if glance is None else glance.language
        asked = Underway(started, keys, unclear, glance, keys[: max(unclear) + 1], language)
        known = [self._known.get(key) for key in asked.read]
        open_ = {key: turn for key, turn, found in zip(asked.read, turns, known, strict=False) if found is None}
        if not open_:
            return self._conclude(asked, known)
        asked.waiting = [self._score(key, turn) for key, turn in open_.items()]
        return asked

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
        at, why = judged(self._artefact, read, vectors, lower(rows, self._artefact.manifest.heads))
        return Scored(tuple(rows[at].tolist()), why)

    def _heard(self, asked: Underway, within_s: float) -> Estimate:
        return self._conclude(asked, [self._known.get(key) for key in asked.read], unready(asked.waiting, within_s))

    def _conclude(self, asked: Underway, found: Sequence[Scored | None], reason: str = "") -> Estimate:
        """`found` of the turns that are read; `reason` is why there is no estimate."""
        known = [scored for scored in found if scored is not None]
        reason = reason or ("forgotten too soon" if len(known) < len(found) else "")
        stage: Stage = "full" if len(asked.keys) - 1 in asked.unclear else "quick"
        if not reason and stage == "full":
            reason = known[-1].doubt
        if reason:
            return self._abstains(reason, asked.started, asked.language)
        rows = self._rows(asked, known)
        if asked.glance is not None:
            asked.glance.heard = asked.unclear, rows, stage
        return self._estimate(rows, asked.started, stage, asked.glance, asked.language)

    def _abstains(self, reason: str, started: float, language: str) -> Estimate:
        took_us = round((self._clock() - started) * 1e6)
        return Estimate(abstains=reason, artefact=self._name, took_us=took_us, language=language)

    def _estimate(self, rows: Rows, started: float, stage: Stage, glance: Glance | None, language: str) -> Estimate:
        return Estimate(
            p_good=rows[-1],
            earlier=rows[:-1],
            artefact=self._name,
            took_us=round((self._clock() - started) * 1e6),
            stage=stage,
            ends=None if glance is None else glance.ends,
            language=language,
        )

    def _rows(self, asked: Underway, known: Sequence[Scored]) -> Rows:
        """Chances of each prefix: what the encoder made of it where the quick stage did not suffice. One whose newest turn
        was in doubt has none."""
        full = prefixes([found.chances for found in known])
        if asked.glance is None:
            rows = [self._named(chances) for chances in full]
        else:
            rows = list(asked.glance.likely)
        for at in asked.unclear:
            rows[at] = {} if known[at].doubt else self._named(full[at])
        return tuple(rows)

    def _named(self, chances: Chances) -> Mapping[str, float]:
        return dict(zip(self._artefact.manifest.heads, chances, strict=True))


def keys_of(question: Question) -> list[bytes]:
    """What its turns are remembered by."""
    if not question.names:
        return list(map(name_of, question.turns))
    return [name or name_of(turn) for name, turn in zip(question.names, question.turns, strict=True)]


def open_estimator(
    artefact: Path | None = None, embedder: str | None = None, opening: Callable[[str], Embedder] = ChildEmbedder
) -> Estimator:
    """Verifies the artefact, opens its embedder and waits until that has answered once: some seconds for a new process.

    None means the artefact in classifiers/shipped. `embedder`, a directory or a hub name, stands in for the default encoder
    and for one that is not here. Raises ArtefactRefused, EncoderMissing, EmbedderFailed.
    """
    opened = artefacts.load(artefact or artefacts.SHIPPED)
    encoder = opening(encoder_for(opened.manifest.encoder, embedder))
    try:
        artefacts.check_encoder(opened, encoder.submit(artefacts.PROBE_TEXT).result())
    except BaseException:
        encoder.close()
        raise
    return Estimator(opened, encoder)

"""Part of wiring: difficulty classifiers, opened when a policy first needs them and closed with the last that does.

A policy that is refused leaves none behind.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from classifiers.question import Question
from gateway.extras import needs
from gateway.settings import BadSettings
from policies.escalate.plan import Weights
from policies.escalate.weights_file import read_weights
from policies.estimates import Calibration, Estimate, Unsettled

if TYPE_CHECKING:
    from classifiers.embedding.shared import SharedEmbedders
    from classifiers.estimator import Estimator

    Opening = Callable[[Path | None, str | None], Estimator]

SHIPPED = "shipped"
NOT_ASKED = Estimate(abstains="no route of this policy asks for difficulty")


Stamp = tuple[tuple[str, int, int], ...]


def stamp_of(folder: Path | None) -> Stamp:
    """What changes when an artefact is trained again under its name: names, times and sizes of its files."""
    if folder is None or not folder.is_dir():
        return ()
    found = [(path.name, path.stat()) for path in sorted(folder.iterdir())]
    return tuple([(name, stat.st_mtime_ns, stat.st_size) for name, stat in found])


class BadArtefact(BadSettings):
    """What is named as an artefact is none that can be used here."""


class Classifiers:
    """Estimators by the artefact that they speak from, each for as long as somebody holds it: a policy in force, or who reads
    one. `artefact` stands in for the shipped one.

    One that was trained again in its place is opened again for the next policy that is read.
    """

    def __init__(self, artefact: Path | None, embedder: str | None, opening: "Opening | None" = None) -> None:
        self._shipped = artefact
        self._embedder = embedder
        self._opening = opening or OpenClassifiers()
        self._opens = Lock()  # one is opened at a time, in a thread; no event loop waits for it
        self._counts = Lock()
        self._open: dict[tuple[Path | None, Stamp], Estimator] = {}
        self._held: Counter[Estimator] = Counter()

    def hold(self, artefact: str) -> "Estimator":
        """Some seconds at the first time. Raises BadSettings."""
        path = self._path(artefact)
        key = path, stamp_of(path)
        with self._opens:
            if (known := self._known(key)) is not None:
                return known
            opened = self._opening(path, self._embedder)
            with self._counts:
                self._open[key] = opened
            return self.hold_again(opened)

    def hold_again(self, estimator: "Estimator") -> "Estimator":
        """Once more what is held."""
        with self._counts:
            self._held[estimator] += 1
        return estimator

    def give_back(self, estimator: "Estimator") -> None:
        """Closed with the last who held it, which blocks for a moment."""
        with self._counts:
            self._held[estimator] -= 1
            if self._held[estimator]:
                return
            self._open = {key: other for key, other in self._open.items() if other is not estimator}
        estimator.close()

    async def let_go(self, estimator: "Estimator") -> None:
        """The same, for an event loop."""
        await asyncio.to_thread(self.give_back, estimator)

    def calibration(self, artefact: str) -> Calibration:
        """The sample of an artefact alone; no encoder is started for it. Raises BadSettings."""
        with needs("classify", "a route chooses by difficulty"):
            from classifiers import artefact as artefacts

            try:
                return artefacts.load(self._path(artefact) or artefacts.SHIPPED).calibration
            except artefacts.ArtefactRefused as error:
                raise BadArtefact(str(error)) from error

    @contextmanager
    def reading(self, *, encoder: bool = True) -> "Iterator[PolicyReader]":
        """For one policy, until it is refused or in force: what is opened for it and held by nobody else is closed then.

        Without an encoder it calibrates, which takes no seconds, and must not be asked for estimates.
        """
        reader = PolicyReader(self, encoder=encoder)
        try:
            yield reader
        finally:
            reader.close()

    async def aclose(self) -> None:
        with self._counts:
            opened, self._open = list(self._open.values()), {}
        for estimator in opened:
            await asyncio.to_thread(estimator.close)

    def _known(self, key: tuple[Path | None, Stamp]) -> "Estimator | None":
        with self._counts:
            if (known := self._open.get(key)) is not None:
                self._held[known] += 1
            return known

    def _path(self, artefact: str) -> Path | None:
        return self._shipped if artefact == SHIPPED else Path(artefact)


class PolicyReader:
    """What reading one policy asks of classifiers: calibration for its targets, estimates for its tests, and in the end who
    estimates for it. An artefact is one and the same throughout, also where it is trained again meanwhile."""

    def __init__(self, classifiers: Classifiers, *, encoder: bool) -> None:
        self._classifiers = classifiers
        self._encoder = encoder
        self._held: dict[str, Estimator] = {}
        self._artefact = ""

    def estimator(self, artefact: str) -> "Estimator":
        """Held until this reading is over. Raises BadSettings."""
        if artefact not in self._held:
            self._held[artefact] = self._classifiers.hold(artefact)
        return self._held[artefact]

    def close(self) -> None:
        while self._held:
            self._classifiers.give_back(self._held.popitem()[1])

    def calibrate(self, artefact: str) -> Calibration:
        """Raises ValueError where the artefact that the file names is at fault, else BadSettings."""
        self._artefact = artefact
        try:
            return self._calibration(artefact)
        except BadArtefact as error:
            if artefact == SHIPPED:
                raise BadSettings(f"the difficulty classifier: {error}") from error
            raise ValueError(str(error)) from error

    def weigh(self, path: str) -> Mapping[str, Weights]:
        """Weights of an answer's signals, by model. Raises OSError, ValueError."""
        return read_weights(Path(path).read_bytes()).models

    def estimate(self, turns: tuple[str, ...], unsettled: Unsettled | None = None) -> Estimate:
        """With `unsettled` as live requests are estimated: quickly where that suffices."""
        if not self._artefact:
            return NOT_ASKED
        return self.estimator(self._artefact).estimate_now(Question(turns), unsettled)

    def _calibration(self, artefact: str) -> Calibration:
        if self._encoder:
            return self.estimator(artefact).calibration
        return self._classifiers.calibration(artefact)


class OpenClassifiers:
    """Opens artefacts; those on one encoder have one process of it. Called by one thread at a time."""

    def __init__(self) -> None:
        self._embedders: SharedEmbedders | None = None

    def __call__(self, path: Path | None, embedder: str | None) -> "Estimator":
        with needs("classify", "a route chooses by difficulty"):
            from classifiers.artefact import ArtefactRefused
            from classifiers.embedding.embedder import EmbedderFailed
            from classifiers.embedding.encoder import EncoderMissing
            from classifiers.embedding.shared import SharedEmbedders
            from classifiers.estimator import open_estimator

            self._embedders = self._embedders or SharedEmbedders()
            try:
                return open_estimator(path, embedder, self._embedders.open)
            except ArtefactRefused as error:
                raise BadArtefact(str(error)) from error
            except (EmbedderFailed, EncoderMissing) as error:
                raise BadSettings(f"the difficulty classifier: {error}") from error

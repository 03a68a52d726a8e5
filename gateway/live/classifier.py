"""Part of wiring: difficulty classifiers, opened when a policy first needs them and closed with the last that does."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from classifiers.question import Question
from gateway.extras import needs
from gateway.settings import BadSettings
from policies.escalate.plan import Weights
from policies.escalate.weights_file import read_weights
from policies.estimates import Calibration, Estimate, Unsettled

if TYPE_CHECKING:
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
    """Estimators by the artefact that they speak from. `artefact` stands in for the shipped one.

    One that was trained again in its place is opened again by the next policy that is read; the one before is closed when
    the last policy that holds it has ended.
    """

    def __init__(self, artefact: Path | None, embedder: str | None, opening: "Opening | None" = None) -> None:
        self._shipped = artefact
        self._embedder = embedder
        self._opening = opening or open_classifier
        self._open: dict[tuple[Path | None, Stamp], Estimator] = {}
        self._held: Counter[Estimator] = Counter()

    def open(self, artefact: str) -> "Estimator":
        """Some seconds at the first time. Raises BadSettings."""
        path = self._path(artefact)
        key = path, stamp_of(path)
        if key not in self._open:
            self._open[key] = self._opening(path, self._embedder)
        return self._open[key]

    def hold(self, artefact: str) -> "Estimator":
        """The same, for as long as a policy is in force. Raises BadSettings."""
        estimator = self.open(artefact)
        self._held[estimator] += 1
        return estimator

    async def let_go(self, estimator: "Estimator") -> None:
        """A policy that held it has ended."""
        self._held[estimator] -= 1
        if self._held[estimator] == 0:
            self._open = {key: other for key, other in self._open.items() if other is not estimator}
            await estimator.aclose()

    def calibration(self, artefact: str) -> Calibration:
        """The sample of an artefact alone; no encoder is started for it. Raises BadSettings."""
        with needs("classify", "a route chooses by difficulty"):
            from classifiers import artefact as artefacts

            try:
                return artefacts.load(self._path(artefact) or artefacts.SHIPPED).calibration
            except artefacts.ArtefactRefused as error:
                raise BadArtefact(str(error)) from error

    def reader(self, *, encoder: bool = True) -> "PolicyReader":
        """Without an encoder it calibrates, which takes no seconds, and must not be asked for estimates."""
        return PolicyReader(self, self._opened if encoder else self.calibration)

    def _opened(self, artefact: str) -> Calibration:
        return self.open(artefact).calibration

    def _path(self, artefact: str) -> Path | None:
        return self._shipped if artefact == SHIPPED else Path(artefact)

    async def aclose(self) -> None:
        opened = list(self._open.values())
        self._open.clear()
        for estimator in opened:
            await estimator.aclose()


class PolicyReader:
    """What reading one policy asks of a classifier: calibration for its targets, estimates for its tests."""

    def __init__(self, classifiers: Classifiers, calibration: Callable[[str], Calibration]) -> None:
        self._classifiers = classifiers
        self._calibration = calibration
        self._artefact = ""

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
        return self._classifiers.open(self._artefact).estimate_now(Question(turns), unsettled)


def open_classifier(path: Path | None, embedder: str | None) -> "Estimator":
    with needs("classify", "a route chooses by difficulty"):
        from classifiers.artefact import ArtefactRefused
        from classifiers.embedding.embedder import EmbedderFailed
        from classifiers.embedding.encoder import EncoderMissing
        from classifiers.estimator import open_estimator

        try:
            return open_estimator(path, embedder)
        except ArtefactRefused as error:
            raise BadArtefact(str(error)) from error
        except (EmbedderFailed, EncoderMissing) as error:
            raise BadSettings(f"the difficulty classifier: {error}") from error

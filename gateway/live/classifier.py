"""Part of wiring: difficulty classifiers, opened when a policy first needs them and kept until the process ends."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from classifiers.question import Question
from gateway.extras import needs
from gateway.request.identity import BadSettings
from policies.escalate.plan import Weights
from policies.escalate.weights_file import read_weights
from policies.estimates import Calibration, Estimate

if TYPE_CHECKING:
    from classifiers.estimator import Estimator

SHIPPED = "shipped"
NOT_ASKED = Estimate(abstains="no route of this policy asks for difficulty")


class Classifiers:
    """Estimators by the artefact that they speak from. `artefact` stands in for the shipped one."""

    def __init__(self, artefact: Path | None, embedder: str | None) -> None:
        self._shipped = artefact
        self._embedder = embedder
        self._open: dict[Path | None, Estimator] = {}

    def open(self, artefact: str) -> "Estimator":
        """Some seconds at the first time. Raises BadSettings."""
        path = self._shipped if artefact == SHIPPED else Path(artefact)
        if path not in self._open:
            self._open[path] = open_classifier(path, self._embedder)
        return self._open[path]

    def reader(self) -> "PolicyReader":
        return PolicyReader(self)

    async def aclose(self) -> None:
        opened: Mapping[Path | None, Estimator] = dict(self._open)
        self._open.clear()
        for estimator in opened.values():
            await estimator.aclose()


class PolicyReader:
    """What reading one policy asks of a classifier: calibration for its targets, estimates for its tests."""

    def __init__(self, classifiers: Classifiers) -> None:
        self._classifiers = classifiers
        self._artefact = ""

    def calibrate(self, artefact: str) -> Calibration:
        self._artefact = artefact
        return self._classifiers.open(artefact).calibration

    def weigh(self, path: str) -> Mapping[str, Weights]:
        """Weights of an answer's signals, by model. Raises OSError, ValueError."""
        return read_weights(Path(path).read_bytes()).models

    def estimate(self, turns: tuple[str, ...]) -> Estimate:
        if not self._artefact:
            return NOT_ASKED
        return self._classifiers.open(self._artefact).estimate_now(Question(turns))


def open_classifier(path: Path | None, embedder: str | None) -> "Estimator":
    with needs("classify", "a route chooses by difficulty"):
        from classifiers.artefact import ArtefactRefused
        from classifiers.embed import EmbedderFailed
        from classifiers.encoder import EncoderMissing
        from classifiers.estimator import open_estimator

        try:
            return open_estimator(path, embedder)
        except (ArtefactRefused, EmbedderFailed, EncoderMissing) as error:
            raise BadSettings(f"the difficulty classifier: {error}") from error

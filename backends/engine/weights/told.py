"""How far the reading of weights is, told now and then while it lasts."""

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from backends.engine.spec import CodedSource, ModelSpec, TensorSource
from backends.engine.weights.codes import Codes
from backends.engine.weights.shapes import shapes
from policies.catalogue import Precision

EVERY_S = 5.0
Say = Callable[[int], None]
Clock = Callable[[], float]


def told(source: TensorSource, spec: ModelSpec, say: Say, clock: Clock) -> TensorSource:
    """The same source; `say` hears the share that is read, in percent, each 5 s. What loads faster is not spoken of."""
    share = _Share(spec, say, clock)
    return _ToldCoded(source, share) if isinstance(source, CodedSource) else _Told(source, share)


class _Share:
    def __init__(self, spec: ModelSpec, say: Say, clock: Clock) -> None:
        self._sizes = {name: prod(shape) for name, shape in shapes(spec).items()}
        self._total = sum(self._sizes.values())
        self._read = 0
        self._say, self._clock = say, clock
        self._next = clock() + EVERY_S

    def note(self, name: str) -> None:
        self._read += self._sizes.pop(name, 0)
        if self._clock() >= self._next:
            self._next = self._clock() + EVERY_S
            self._say(100 * self._read // self._total)


class _Told:
    def __init__(self, source: TensorSource, share: _Share) -> None:
        self._source, self._share = source, share

    def tensor(self, name: str) -> NDArray[np.float32]:
        values = self._source.tensor(name)
        self._share.note(name)
        return values


class _ToldCoded(_Told):
    def __init__(self, source: CodedSource, share: _Share) -> None:
        super().__init__(source, share)
        self._coded = source

    @property
    def precision(self) -> Precision:
        return self._coded.precision

    def codes(self, name: str) -> Codes:
        values = self._coded.codes(name)
        self._share.note(name)
        return values

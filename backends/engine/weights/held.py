"""What a model of some precision holds of a source: integers that a file has already, or those that its values round to."""

import numpy as np
from numpy.typing import NDArray

from backends.engine.spec import CodedSource, TensorSource
from backends.engine.weights.codes import bfloat16_bits, from_bfloat16, to_int4, to_int8
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.forms import form_of
from policies.catalogue import Precision


def precision_of(source: TensorSource, wanted: Precision | None, otherwise: Precision = "bfloat16") -> Precision:
    """What a model of these weights runs in: as their files hold them, else as wanted, else the last.

    Raises WeightsError when they are integers of another precision than the wanted one.
    """
    if not isinstance(source, CodedSource):
        return wanted or otherwise
    if wanted not in (None, source.precision):
        raise WeightsError(
            f"these weights are held in {source.precision}, not in {wanted}: leave the precision out, "
            "or name the weights that they were made from"
        )
    return source.precision


def coded(source: TensorSource, precision: Precision) -> CodedSource | None:
    """The source where it holds integers, and of this precision. Raises WeightsError for those of another."""
    precision_of(source, precision)
    return source if isinstance(source, CodedSource) else None


def as_held(source: TensorSource, precision: Precision) -> TensorSource:
    """The source with each tensor's values as a model of this precision holds them. Raises WeightsError like `coded`."""
    if coded(source, precision) or precision in ("float32", "bfloat16"):
        return source
    return _Rounded(source, precision)


class _Rounded:
    """Values that a quantised directory of the same source would give, bit for bit."""

    def __init__(self, source: TensorSource, precision: Precision) -> None:
        self._source, self._precision = source, precision

    def tensor(self, name: str) -> NDArray[np.float32]:
        values = self._source.tensor(name)
        form = form_of(name.rpartition(".")[2], values.shape, self._precision)
        if form == "float32":
            return values
        if form == "bfloat16":
            return from_bfloat16(bfloat16_bits(values))
        return (to_int8 if form == "int8" else to_int4)(values).dense()

"""Fitted weights as a file: JSON, with where they come from. Read and written as bytes; opening it is for others."""

from collections.abc import Iterator, Mapping

import msgspec

from policies.escalate.measures import MEASURES
from policies.escalate.plan import Weights

FORMAT = 1
LARGEST = 50.0
"""Log-odds that one measure may weigh."""


class WeightsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`models` holds weights by the catalogue's name of a model, "" for all others. `card` says what they were fitted on."""

    format: int
    models: Mapping[str, Weights]
    card: Mapping[str, str | float] = {}


def read_weights(data: bytes) -> WeightsFile:
    """Raises ValueError for what is no such file."""
    try:
        file = msgspec.json.decode(data, type=WeightsFile)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"no file of weights: {error}") from None
    if file.format != FORMAT:
        raise ValueError(f"format {file.format} of weights; this is format {FORMAT}")
    for weights in every(file):
        strangers = [name for name in weights.measures if name not in MEASURES]
        if strangers:
            raise ValueError(f"weighs {strangers[0]}, which is no measure; there are {', '.join(MEASURES)}")
        if any(abs(weight) > LARGEST for weight in (weights.bias, weights.estimate, *weights.measures.values())):
            raise ValueError(f"weighs more than {LARGEST:g}")
    return file


def every(file: WeightsFile) -> Iterator[Weights]:
    """The models' weights, and those of their tasks. Raises ValueError where these have tasks of their own, or no name."""
    for weights in file.models.values():
        yield weights
        if "" in weights.tasks or any(own.tasks for own in weights.tasks.values()):
            raise ValueError("has a task without a name, or tasks within a task")
        yield from weights.tasks.values()


def write_weights(models: Mapping[str, Weights], card: Mapping[str, str | float]) -> bytes:
    """
    >>> read_weights(write_weights({"small": Weights(bias=1.0)}, {})).models["small"].bias
    1.0
    """
    return msgspec.json.format(msgspec.json.encode(WeightsFile(format=FORMAT, models=models, card=card)), indent=2)

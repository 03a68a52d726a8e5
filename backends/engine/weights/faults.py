"""The one error of this room."""

from pathlib import Path


class WeightsError(Exception):
    """The files cannot be used: what is wrong, where, and what would be right."""


def pickled(path: Path) -> WeightsError:
    """The refusal of a file that runs code when it is opened."""
    return WeightsError(
        f"{path.name}: pickled weights are not opened, since a pickle can run code; convert to safetensors"
    )

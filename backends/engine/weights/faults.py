"""The one error of this room."""

from pathlib import Path

_BEGINNING, _END = 700, 200


class WeightsError(Exception):
    """The files cannot be used: what is wrong, where, and what would be right.

    What files say of themselves stands in it, so the middle of a long message is left out and what cannot be printed
    is a question mark.
    """

    def __init__(self, message: str) -> None:
        if len(message) > _BEGINNING + _END:
            message = f"{message[:_BEGINNING]} ... {message[-_END:]}"
        super().__init__("".join(letter if letter.isprintable() else "?" for letter in message))


def pickled(path: Path) -> WeightsError:
    """The refusal of a file that runs code when it is opened."""
    return WeightsError(
        f"{path.name}: pickled weights are not opened, since a pickle can run code; convert to safetensors"
    )

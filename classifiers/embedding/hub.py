"""What can be known of a hub name without loading a model: whether it was fetched before, and whether the hub answers."""

from contextlib import suppress

from huggingface_hub import HfApi, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

HUB_WITHIN_S = 5.0
_OWN = "sentence-transformers/"
"""Whose models the library knows by the second part of their names."""

_MARK = "config.json"


class NotOpened(Exception):
    """The message says why."""


def is_kept(name: str) -> bool:
    """Was fetched before and lies in the hub's folder on this machine."""
    names = (name,) if "/" in name else (name, _OWN + name)
    with suppress(HFValidationError):
        return any(isinstance(try_to_load_from_cache(one, _MARK), str) for one in names)
    return False


def ask_hub(name: str) -> None:
    """Once, for its clients try for a minute. Whether there is such a model is not looked at: the library tries other names
    as well. Raises NotOpened where nobody answers."""
    try:
        HfApi().model_info(name, timeout=HUB_WITHIN_S)
    except HFValidationError as error:
        raise NotOpened("it is no folder, and no name that a hub knows") from error
    except HfHubHTTPError:
        return
    except Exception as error:  # of whichever client it has
        reason = line_of(error)
        raise NotOpened(f"it is no folder, was never fetched, and the hub does not answer ({reason})") from error


def line_of(error: Exception) -> str:
    """The first line that says something."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)

"""Optional parts of the installation, and the line that adds them."""

from collections.abc import Iterator
from contextlib import contextmanager

from gateway.settings import BadSettings


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Turn a module that is not installed, found missing at import or at use, into the line that installs it.

    Raises BadSettings.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        line = f"pip install -e '.[{extra}]'"
        raise BadSettings(f"{what}, which needs {error.name}: run `{line}` in Turnout's folder") from None

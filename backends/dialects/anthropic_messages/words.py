"""Words of the dialect that more than one file needs."""

from typing import Final

DIALECT: Final = "anthropic"
"""The name of the dialect: on requests, and on what a server's own bytes are in."""

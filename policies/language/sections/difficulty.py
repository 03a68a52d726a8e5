"""`difficulty:` how hard a request is, and how soon that must be known."""

from pydantic import Field

from policies.language.closed import Closed
from policies.language.fields import Milliseconds


class DifficultyEntry(Closed):
    """How difficulty is estimated."""

    artefact: str = Field(default="shipped", min_length=1, description="A trained artefact: a path, or `shipped`.")
    within: Milliseconds = Field(
        default="50ms",
        validate_default=True,
        description="Time an estimate may take; over it, `when_unsure` decides.",
        examples=["50ms"],
    )

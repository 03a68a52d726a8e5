"""`resilience:` time limits and retries."""

from pydantic import Field

from policies.language.closed import Closed
from policies.language.fields import Seconds


class ResilienceEntry(Closed):
    """How long to wait and how often to ask."""

    attempts: int = Field(default=3, ge=1, le=10, description="Attempts in all, the first included.", examples=[3])
    connect: Seconds = Field(default="5s", validate_default=True, description="Until connected.", examples=["5s"])
    first_content: Seconds = Field(
        default="2m", validate_default=True, description="Until the first content.", examples=["60s"]
    )
    gap: Seconds = Field(
        default="1m", validate_default=True, description="Between two events of a stream.", examples=["30s"]
    )
    total: Seconds = Field(default="10m", validate_default=True, description="Over all.", examples=["10m"])
    retry_uncertain: bool = Field(
        default=False,
        description="Ask again even when the first try may have been done (and billed).",
        examples=[False],
    )

"""`guardrails:` what must not become worse, named once for experiments and rollouts."""

from pydantic import Field

from policies.experiments.plan import Act
from policies.language.closed import Closed
from policies.language.values.effects import AlphaShare, WorseBy


class GuardrailEntry(Closed):
    """A metric, how much worse it may be than control's, and what happens when it is worse than that."""

    metric: str = Field(description="What is watched.", examples=["error_rate", "ttft.p95", "cost_per_request"])
    worse_by: WorseBy = Field(
        description="What is still borne: percent of control's value, or points (pp) of a rate.",
        examples=["0.5pp", "20%"],
    )
    alpha: AlphaShare = Field(
        default="1%",
        validate_default=True,
        description="The chance that it acts though nothing is worse, however often it is looked at.",
        examples=["1%"],
    )
    act: Act = Field(
        default="roll_back", description="`roll_back`: everybody back to control. `hold`: no step further."
    )

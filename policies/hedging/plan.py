"""What a policy says of hedges, and the hedge of one decision."""

import msgspec

PERCENT = 100


class Hedging(msgspec.Struct, frozen=True, kw_only=True):
    """A second replica is asked after `after_s` of silence or, where `percentile` is set, after as long as so many percent of
    prompts of that length wait for their first content. `budget` is the share of requests that may be hedged. `busy_over` is
    the share of a model's replicas that may be busy; above it nobody is hedged."""

    after_s: float = 0.0
    percentile: float = 0.0
    budget: float = 0.02
    busy_over: float = 1.0

    @property
    def told(self) -> str:
        """
        >>> Hedging(percentile=95).told, Hedging(after_s=0.8).told
        ('p95 of ttft', '0.8 s')
        """
        return f"p{self.percentile:g} of ttft" if self.percentile else f"{self.after_s:g} s"

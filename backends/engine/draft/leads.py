"""How far each sequence is before where it would be without drafts: an account in seconds, so that none pays for the others."""

from dataclasses import dataclass

LAG = 0.004
"""Of its own time, how far a sequence may fall behind."""


@dataclass(slots=True)
class Lead:
    """`seconds` ahead; when it began, on the clock of steps."""

    seconds: float
    began_s: float


class Leads:
    """By job id. `now_s` is the time that all steps so far have taken."""

    def __init__(self) -> None:
        self._leads: dict[int, Lead] = {}

    def move(self, job_id: int, seconds: float, now_s: float) -> None:
        self._of(job_id, now_s).seconds += seconds

    def spare_s(self, job_id: int, now_s: float) -> float:
        """What it may still lose."""
        lead = self._of(job_id, now_s)
        return lead.seconds + LAG * (now_s - lead.began_s)

    def forget(self, job_id: int) -> None:
        self._leads.pop(job_id, None)

    def _of(self, job_id: int, now_s: float) -> Lead:
        found = self._leads.get(job_id)
        if found is None:
            found = self._leads[job_id] = Lead(0.0, now_s)
        return found

    def __len__(self) -> int:
        """Sequences that are known."""
        return len(self._leads)

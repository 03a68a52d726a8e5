"""How likely a draft token is right, learned from what became of the earlier ones."""

from dataclasses import dataclass, field

LEARN = 0.05
LEARN_COMMON = 0.05


@dataclass(slots=True)
class Acceptance:
    """Chances by grade, decayed: of each sequence, and common ones that a new sequence begins with."""

    common: list[float]
    _own: dict[int, list[float]] = field(default_factory=dict)

    def of(self, job_id: int) -> list[float]:
        found = self._own.get(job_id)
        if found is None:
            found = self._own[job_id] = list(self.common)
        return found

    def learn(self, job_id: int, grade: int, proposed: int, accepted: int) -> None:
        """Of the proposed tokens the first `accepted` were right and the next, if any, was wrong."""
        own = self.of(job_id)
        for hit in [1.0] * accepted + [0.0] * (accepted < proposed):
            own[grade] += LEARN * (hit - own[grade])
            self.common[grade] += LEARN_COMMON * (hit - self.common[grade])

    def forget(self, job_id: int) -> None:
        self._own.pop(job_id, None)

    def __len__(self) -> int:
        """Sequences that are known."""
        return len(self._own)

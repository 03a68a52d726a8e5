"""When a failed engine is built again, and when it is given up. Knows no thread and no clock."""

from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class Restart:
    """Seconds before a failed model is built again: doubled from `first_s` to `most_s`, reset by `calm_s` of service.

    After `builds` builds in a row that failed alike, none of which ever got ready, there is no other try: six take 15 s
    of pauses, which outlasts a volume that is mounted late and no operator.
    """

    first_s: float = 0.5
    most_s: float = 30.0
    calm_s: float = 60.0
    builds: int = 6

    def pause_s(self, failures: int) -> float:
        """
        >>> [Restart().pause_s(n) for n in (1, 2, 9)]
        [0.5, 1.0, 30.0]
        """
        return float(min(self.most_s, self.first_s * 2 ** (failures - 1)))


PATIENT = Restart()


class Faults:
    """The faults of one engine, counted as far as they follow each other.

    >>> faults = Faults(Restart(builds=2))
    >>> for kind in (OSError, ValueError, ValueError):
    ...     faults.book(kind("no"), was_ready=False, lived_s=0.0)
    >>> faults.is_hopeless, faults.builds, faults.pause_s
    (True, 2, 2.0)
    """

    def __init__(self, restart: Restart) -> None:
        self._restart = restart
        self._in_row = 0
        self._kind: type[Exception] | None = None
        self.builds = 0

    def book(self, fault: Exception, *, was_ready: bool, lived_s: float) -> None:
        """`was_ready`: the model had been built. `lived_s`: from the start of the build to the fault."""
        self._in_row = 1 if lived_s > self._restart.calm_s else self._in_row + 1
        is_alike = type(fault) is self._kind
        self._kind = type(fault)
        self.builds = 0 if was_ready else self.builds + 1 if is_alike else 1

    @property
    def is_hopeless(self) -> bool:
        """Whether the model will not be built by trying."""
        return self.builds >= self._restart.builds

    @property
    def pause_s(self) -> float:
        return self._restart.pause_s(self._in_row)

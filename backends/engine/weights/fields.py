"""Numbers from a file that somebody else wrote: each is read by name, with its kind and its bounds."""

from collections.abc import Mapping
from dataclasses import dataclass

from backends.engine.weights.faults import WeightsError

MISSING = object()


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping of untrusted values; `origin` names the file in errors."""

    values: Mapping[str, object]
    origin: str

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def whole(self, name: str, low: int, high: int, default: object = MISSING) -> int:
        """An integer in low..high. Raises WeightsError when it is absent without a default, or out of bounds."""
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise WeightsError(f"{self.origin}: {name} is {value!r}; a whole number from {low} to {high} is needed")
        return value

    def real(self, name: str, low: float, high: float, default: object = MISSING) -> float:
        """A number in low..high. Raises WeightsError like `whole`."""
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise WeightsError(f"{self.origin}: {name} is {value!r}; a number from {low:g} to {high:g} is needed")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._value(name, default)
        if not isinstance(value, bool):
            raise WeightsError(f"{self.origin}: {name} is {value!r}; true or false is needed")
        return value

    def ids(self, name: str) -> tuple[int, ...]:
        """Token ids written as one number or as a list; empty when absent."""
        value = self.values.get(name)
        listed = value if isinstance(value, list) else [] if value is None else [value]
        if len(listed) > 1024 or not all(isinstance(i, int) and not isinstance(i, bool) and i >= 0 for i in listed):
            raise WeightsError(f"{self.origin}: {name} is {str(value)[:80]}; token ids are needed")
        return tuple(listed)

    def inner(self, name: str) -> "Fields | None":
        """A nested mapping; None when absent."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise WeightsError(f"{self.origin}: {name} is {str(value)[:80]}; a mapping is needed")
        return Fields(value, f"{self.origin}: {name}")

    def _value(self, name: str, default: object) -> object:
        value = self.values.get(name)
        if value is None and default is MISSING:
            raise WeightsError(f"{self.origin}: {name} is missing")
        return default if value is None else value

"""Stop strings over a growing text: what may be shown, what must be held back, where the text ends."""


class StopScanner:
    """Finds the earliest stop string whatever the pieces it comes in.

    >>> scanner = StopScanner(("beta",))
    >>> scanner.push("x be"), scanner.push("d"), scanner.push(" beta!"), scanner.found
    ('x ', 'bed', ' ', 'beta')
    """

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.found: str | None = None

    def push(self, piece: str) -> str:
        """The text that is safe to show by now. Once `found` is set there is no more of it."""
        if not self._stops:
            return piece
        text = self._held + piece
        at, self.found = min(((at, stop) for stop in self._stops if (at := text.find(stop)) >= 0), default=(-1, None))
        safe = at if self.found is not None else len(text) - self._tail(text)
        self._held = "" if self.found is not None else text[safe:]
        return text[:safe]

    def rest(self) -> str:
        """What was held back and did not become a stop; for the end of the text."""
        held, self._held = self._held, ""
        return held

    def _tail(self, text: str) -> int:
        """Length of the longest end of `text` that a stop string begins with."""
        return max((overlap(text, stop) for stop in self._stops), default=0)


def overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that `stop` begins with, the whole of `stop` apart."""
    longest = min(len(text), len(stop) - 1)
    return next((length for length in range(longest, 0, -1) if text.endswith(stop[:length])), 0)

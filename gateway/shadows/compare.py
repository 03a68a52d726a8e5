"""Two answers on every rung that a shadow asks for: some by `policies.shadows`, words by rapidfuzz, meaning by the encoder."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gateway.extras import needs
from policies.escalate.said import Said, Wanted
from policies.shadows.likeness import apart, likeness, words
from policies.shadows.plan import Comparison

if TYPE_CHECKING:
    from classifiers.embedding.embedder import Embedder

EMBED_WITHIN_S = 30.0


class NotCompared(Exception):
    """A library failed; the message says which."""


class Comparer:
    """`opening` gives the encoder when it is first needed."""

    def __init__(self, opening: "Callable[[], Embedder]") -> None:
        self._opening = opening
        self._embeds: Embedder | None = None

    async def compare(self, first: Said, second: Said, wanted: Wanted, rungs: Sequence[Comparison]) -> dict[str, float]:
        """From 0, alike, to 1. Raises NotCompared."""
        found = likeness(first, second, wanted, rungs)
        if "edit" in rungs:
            await asyncio.sleep(0)
            found["edit"] = edit_distance(first, second)
        if "embedding" in rungs and first.text.strip() and second.text.strip():
            found["embedding"] = await self._meaning(first.text, second.text)
        return found

    async def _meaning(self, first: str, second: str) -> float:
        if first == second:
            return 0.0
        from classifiers.features.text import cut_of

        try:
            embeds = await self._encoder()
            async with asyncio.timeout(EMBED_WITHIN_S):
                one, other = [await asyncio.wrap_future(embeds.submit(cut_of(text))) for text in (first, second)]
        except Exception as error:
            raise NotCompared(f"the sentence encoder: {str(error) or type(error).__name__}") from error
        return apart(float(one @ other))

    async def _encoder(self) -> "Embedder":
        if self._embeds is None:
            self._embeds = await asyncio.to_thread(self._opening)
        return self._embeds

    async def aclose(self) -> None:
        if self._embeds is not None:
            await asyncio.to_thread(self._embeds.close)


def edit_distance(first: Said, second: Said) -> float:
    """Words that have to be changed, put in or taken out, as a share of the longer answer. Raises BadSettings without
    rapidfuzz."""
    with needs("shadow", "a shadow compares by edit"):
        from rapidfuzz.distance import Levenshtein
    return Levenshtein.normalized_distance(words(first), words(second))

"""Models as Anthropic's API lists them: page by page, between two ids."""

from collections.abc import Mapping, Sequence

import msgspec

from backends.dialects.faults import RequestFault

MOST = 1_000
USUAL = 20

UNKNOWN_DATE = "1970-01-01T00:00:00Z"
"""The API's own word for a release date that is not known."""


class ModelCard(msgspec.Struct, frozen=True, kw_only=True):
    """`max_input_tokens` is the window, `max_tokens` the most that an answer may have; None where nobody said."""

    type: str = "model"
    id: str
    display_name: str
    created_at: str = UNKNOWN_DATE
    lifecycle: str = "active"
    max_input_tokens: int | None = None
    max_tokens: int | None = None


class ModelPage(msgspec.Struct, frozen=True):
    data: Sequence[ModelCard]
    has_more: bool
    first_id: str | None
    last_id: str | None


def page_of(cards: Sequence[ModelCard], query: Mapping[str, str]) -> ModelPage:
    """The cards after `after_id`, or before `before_id`, `limit` of them at most. Raises RequestFault.

    >>> cards = [ModelCard(id=name, display_name=name) for name in "abc"]
    >>> [card.id for card in page_of(cards, {"after_id": "a", "limit": "1"}).data]
    ['b']
    """
    limit = _limit(query.get("limit", str(USUAL)))
    if "before_id" in query:
        rest = cards[: _place(cards, query["before_id"], "before_id")]
        return _page(rest[-limit:], has_more=len(rest) > limit)
    rest = cards[_place(cards, query["after_id"], "after_id") + 1 :] if "after_id" in query else cards
    return _page(rest[:limit], has_more=len(rest) > limit)


def _page(cards: Sequence[ModelCard], *, has_more: bool) -> ModelPage:
    return ModelPage(cards, has_more, cards[0].id if cards else None, cards[-1].id if cards else None)


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST)) and 1 <= int(text) <= MOST):
        raise RequestFault(f"limit is a number from 1 to {MOST}.", "limit")
    return int(text)


def _place(cards: Sequence[ModelCard], name: str, param: str) -> int:
    for place, card in enumerate(cards):
        if card.id == name:
            return place
    raise RequestFault(f"{param} names no model of this list.", param)

"""Which requests were answered lately, so that whoever tells something of one hears what becomes of it."""

from collections import OrderedDict
from typing import Literal, NamedTuple

import msgspec

from gateway.decisions.record import FeedbackRecord
from gateway.decisions.worth import Key, worth_of

REMEMBERED = 65_536
"""Requests. Some 20 MB when full."""

WRITTEN_WITHIN_S = 1.0
"""A decision is in the log that long after its request is over."""

Standing = Literal["accepted", "replaced", "unchanged", "unverified", "expired"]
"""accepted     it is of a request that this process answered for the same tenant
replaced     likewise, and it takes the place of an earlier rating
unchanged    the same was said before: nothing is written again
unverified   this process does not know the request: an earlier one answered it, or another process, or nobody. It is kept, and
             counts where the decision of the same tenant is found beside it
expired      the decision is no longer in the log, so nothing is kept
"""


class Known(NamedTuple):
    """`at` is when the request was over; `words` what was said of it, `rated` whether that rates it."""

    at: float
    words: FeedbackRecord | None = None
    rated: bool = False


class Lately:
    """The newest requests of this process, by tenant and id."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._known: OrderedDict[Key, Known] = OrderedDict()

    def answered(self, tenant: str, request_id: str, at: float) -> None:
        self._known[tenant, request_id] = Known(at)
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def standing(self, told: FeedbackRecord, since: float) -> Standing:
        """`since`: what was written before that is gone."""
        known = self._known.get((told.tenant, told.request_id))
        if known is None:
            return "unverified"
        if known.at < since - WRITTEN_WITHIN_S:
            return "expired"
        if known.words is not None and msgspec.structs.replace(told, at=known.words.at) == known.words:
            return "unchanged"
        return "replaced" if known.rated and worth_of(told) is not None else "accepted"

    def heard(self, told: FeedbackRecord) -> None:
        """It is going to be written."""
        key = told.tenant, told.request_id
        if known := self._known.get(key):
            self._known[key] = Known(known.at, told, known.rated or worth_of(told) is not None)

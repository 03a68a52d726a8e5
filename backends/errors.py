"""How an upstream fails, as one type with a closed set of kinds.

The kind says what happened; `sent` whether the upstream may have done the work, which decides if asking again is safe.
"""

from collections.abc import Mapping
from typing import Literal

Kind = Literal[
    "connect_failed",
    "rejected",
    "bad_answer",
    "first_content_timeout",
    "gap_timeout",
    "total_timeout",
    "stream_cut",
    "overloaded",
    "too_long",
    "unsupported",
    "engine_failed",
]


class UpstreamError(Exception):
    """One failed attempt.

    `status`, `headers` and `body` are the upstream's own answer for kind `rejected` (headers in lower case, only those
    that a client may see). `context` and `asked` are tokens, for kind `too_long`. `param` names the field that an
    engine cannot honour, for kind `unsupported`.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        sent: bool,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        param: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.sent = sent
        self.status = status
        self.headers = dict(headers or {})
        self.body = body
        self.param = param

"""Everything that can go wrong, as one tree. Each leaf knows five things.

RouterError                 whose fault          code                          status  retry        type in the envelope
├─ ClientFault              the caller
│  ├─ BadRequest                                 (of the field) or none        400     never        invalid_request_error
│  ├─ Unauthorised                               invalid_api_key               401     never        invalid_request_error
│  ├─ ModelForbidden                             model_not_allowed             403     never        permission_error
│  ├─ GatewaysOnly                               gateways_only                 403     never        permission_error
│  ├─ AdminKeyRefused                            admin_key_refused             401     never        permission_error
│  ├─ ForeignHost                                host_not_allowed              403     never        permission_error
│  ├─ NotFound                                   not_found                     404     never        invalid_request_error
│  ├─ UnknownModel                               model_not_found               404     never        invalid_request_error
│  ├─ MethodNotAllowed                           method_not_allowed            405     never        invalid_request_error
│  ├─ Conflict                                   conflict                      409     never        invalid_request_error
│  ├─ SlowRequest                                request_timeout               408     safe         timeout_error
│  ├─ TooLarge                                   request_too_large             413     never        invalid_request_error
│  ├─ BadEncoding                                unsupported_encoding          415     never        invalid_request_error
│  ├─ HeadersTooLarge                            headers_too_large             431     never        invalid_request_error
│  ├─ TooOften                                   rate_limited                  429     safe         rate_limit_error
│  ├─ OverBudget                                 over_budget                   429     safe         rate_limit_error
│  ├─ TooLong                                    context_length_exceeded       400     never        invalid_request_error
│  ├─ Unsupported                                unsupported_content           400     never        invalid_request_error
│  └─ Left                                       client_left                   499     never        (nobody reads it)
├─ PolicyFault              the operator
│  ├─ NoRoute                                    no_route                      500     never        configuration_error
│  └─ Misconfigured                              misconfigured                 500     never        configuration_error
├─ UpstreamFault            who should answer
│  ├─ Rejected                                   (upstream's own)              (same)  by status    (upstream's own)
│  ├─ KeyRefused                                 upstream_auth_error           502     never        upstream_auth_error
│  ├─ Unreachable                                upstream_unreachable          502     safe         upstream_error
│  ├─ Disconnected                               upstream_disconnected         502     maybe_sent   upstream_error
│  ├─ BadAnswer                                  upstream_bad_answer           502     maybe_sent   upstream_error
│  ├─ Failed                                     engine_failed                 500     maybe_sent   upstream_error
│  ├─ Overloaded                                 overloaded                    503     safe         overloaded_error
│  ├─ NoFirstToken                               first_token_timeout           504     maybe_sent   timeout_error
│  ├─ Silent                                     idle_timeout                  504     maybe_sent   timeout_error
│  ├─ TooSlow                                    total_timeout                 504     maybe_sent   timeout_error
│  └─ Uncounted                                  cannot_count_tokens           501     never        upstream_error
└─ OurFault                 us
   ├─ Unavailable                                unavailable                   503     safe         overloaded_error
   ├─ Busy                                       too_many_in_flight            429     safe         rate_limit_error
   ├─ Crowded                                    too_many_connections          503     safe         overloaded_error
   ├─ Draining                                   draining                      503     safe         overloaded_error
   └─ Internal                                   internal_error                500     never        internal_error
"""

from collections.abc import Mapping
from math import ceil
from typing import ClassVar, Literal

Retry = Literal["safe", "maybe_sent", "never"]


UNSUPPORTED = "unsupported_parameter"
"""Code of a BadRequest for what the model that was to answer cannot do."""


LONGEST_WAIT_S = 60.0
"""What a client library waits for by itself; beyond it, it is told not to try."""


class RouterError(Exception):
    """A failure that a client is told of. `message` says what, where and what now; it never holds a secret."""

    code: str | None = None
    status: int = 500
    retry: Retry = "never"
    type: str = "internal_error"
    now: ClassVar[str] = ""

    def __init__(self, message: str, *, param: str | None = None, headers: Mapping[str, str] | None = None) -> None:
        self.message = f"{message} {self.now}".strip()
        self.param = param
        self.headers: dict[str, str] = dict(headers or {})
        super().__init__(self.message)


class ClientFault(RouterError):
    type = "invalid_request_error"
    status = 400


class BadRequest(ClientFault):
    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message, param=param)
        self.code = code


class Unauthorised(ClientFault):
    code, status = "invalid_api_key", 401
    now = "Send a key of this gateway as `Authorization: Bearer KEY` or `x-api-key: KEY`."

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"www-authenticate": "Bearer"})


class AdminKeyRefused(ClientFault):
    code, status, type = "admin_key_refused", 401, "permission_error"
    now = "Send it as `Authorization: Bearer KEY`; TURNOUT_ADMIN__KEY_HASH is its SHA-256, in hex."

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"www-authenticate": "Bearer"})


class ModelForbidden(ClientFault):
    code, status, type = "model_not_allowed", 403, "permission_error"
    now = "GET /v1/models lists the models of this key."


class GatewaysOnly(ClientFault):
    code, status, type = "gateways_only", 403, "permission_error"
    now = "Its entry in the keys file needs `gateway: true`."


class ForeignHost(ClientFault):
    code, status, type = "host_not_allowed", 403, "permission_error"
    now = (
        "Without keys only localhost, 127.0.0.1 and [::1] are answered, so that no web page can reach in under a name of "
        "its own. Set TURNOUT_KEYS_FILE to a list of keys, or TURNOUT_ALLOW_ANONYMOUS=true to answer every name."
    )


class NotFound(ClientFault):
    code, status = "not_found", 404


class UnknownModel(ClientFault):
    code, status = "model_not_found", 404


class MethodNotAllowed(ClientFault):
    code, status = "method_not_allowed", 405


class Conflict(ClientFault):
    code, status = "conflict", 409


class SlowRequest(ClientFault):
    code, status, retry, type = "request_timeout", 408, "safe", "timeout_error"


class TooLarge(ClientFault):
    code, status = "request_too_large", 413


class BadEncoding(ClientFault):
    code, status = "unsupported_encoding", 415
    now = "Send the body as plain JSON without content-encoding."


class HeadersTooLarge(ClientFault):
    code, status = "headers_too_large", 431


class TooOften(ClientFault):
    code, status, retry, type = "rate_limited", 429, "safe", "rate_limit_error"


class OverBudget(ClientFault):
    """A budget has too little left. `again_in_s` is when it has more; None: never, for this much."""

    code, status, type = "over_budget", 429, "rate_limit_error"
    retry: Retry = "safe"

    def __init__(self, message: str, *, param: str | None = None, again_in_s: float | None = None) -> None:
        super().__init__(message, param=param)
        if again_in_s is None:
            self.retry = "never"
        else:
            self.headers["retry-after"] = str(max(1, ceil(again_in_s)))
        if again_in_s is None or again_in_s > LONGEST_WAIT_S:
            self.headers["x-should-retry"] = "false"


class TooLong(ClientFault):
    code = "context_length_exceeded"


class Unsupported(ClientFault):
    code = "unsupported_content"


class Left(ClientFault):
    """The client closed the connection first. The status is for the books."""

    code, status = "client_left", 499


class PolicyFault(RouterError):
    type = "configuration_error"


class NoRoute(PolicyFault):
    code = "no_route"


class Misconfigured(PolicyFault):
    code = "misconfigured"


class UpstreamFault(RouterError):
    type = "upstream_error"
    status = 502
    retry: Retry = "maybe_sent"


class Rejected(UpstreamFault):
    """The upstream's own refusal, kept: it describes the request, a limit, or its own failure."""

    def __init__(
        self, message: str, *, status: int, type: str, param: str | None, code: str | None, headers: Mapping[str, str]
    ) -> None:
        super().__init__(message, param=param, headers=headers)
        self.status, self.type, self.code = status, type, code
        self.retry = retry_of(status)


def retry_of(status: int) -> Retry:
    """Whether asking again may help after an upstream's own status."""
    return "safe" if status == 429 else "maybe_sent" if status >= 500 else "never"


class KeyRefused(UpstreamFault):
    code, retry, type = "upstream_auth_error", "never", "upstream_auth_error"


class Unreachable(UpstreamFault):
    code, retry = "upstream_unreachable", "safe"


class Disconnected(UpstreamFault):
    code = "upstream_disconnected"


class BadAnswer(UpstreamFault):
    code = "upstream_bad_answer"


class Failed(UpstreamFault):
    code, status = "engine_failed", 500


class Overloaded(UpstreamFault):
    code, status, retry, type = "overloaded", 503, "safe", "overloaded_error"


class NoFirstToken(UpstreamFault):
    code, status, type = "first_token_timeout", 504, "timeout_error"


class Silent(UpstreamFault):
    code, status, type = "idle_timeout", 504, "timeout_error"


class TooSlow(UpstreamFault):
    code, status, type = "total_timeout", 504, "timeout_error"


class Uncounted(UpstreamFault):
    code, status, retry = "cannot_count_tokens", 501, "never"
    now = "Models in this process and of `dialect: anthropic` count; an answer's `usage` has the count of every model."


class OurFault(RouterError):
    pass


class Unavailable(OurFault):
    code, status, retry, type = "unavailable", 503, "safe", "overloaded_error"


class Busy(OurFault):
    code, status, retry, type = "too_many_in_flight", 429, "safe", "rate_limit_error"


class Crowded(OurFault):
    code, status, retry, type = "too_many_connections", 503, "safe", "overloaded_error"


class Draining(OurFault):
    code, status, retry, type = "draining", 503, "safe", "overloaded_error"
    now = "Ask again; another process answers."


class Internal(OurFault):
    code = "internal_error"


def reply_headers(error: RouterError) -> dict[str, str]:
    """Headers that tell a client library what to do: SDKs obey `x-should-retry` before they look at the status.

    >>> reply_headers(KeyRefused("no"))
    {'x-should-retry': 'false'}
    """
    if (error.status == 429 or error.status >= 500) and error.retry == "never":
        return {"x-should-retry": "false"} | error.headers
    if error.status in (429, 503) and not isinstance(error, Rejected):
        return {"retry-after": "1"} | error.headers
    return error.headers

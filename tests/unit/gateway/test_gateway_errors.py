"""The error tree: drawn, complete, and mapped from everything that can fail inside."""

import inspect
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.errors import Kind, UpstreamError
from gateway import errors
from gateway.errors import RouterError, reply_headers
from gateway.request.faults import OF_KIND, OF_REJECT, from_reject, from_upstream, outcome_of, read_error
from gateway.request.reply import one_line, safe_headers
from policies.advance import WHAT_NEXT
from policies.decision import Reject, RejectCode

LEAVES = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, RouterError) and found.__mro__[1] in RouterError.__subclasses__()
]
FAMILIES = {"ClientFault", "PolicyFault", "UpstreamFault", "OurFault"}


def drawn() -> dict[str, list[str]]:
    """The rows of the drawing: name of the leaf -> code, status, retry, type."""
    rows = [line.split() for line in (errors.__doc__ or "").splitlines() if "─ " in line]
    return {row[row.index(next(x for x in row if x in ("├─", "└─"))) + 1]: row for row in rows}


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.__name__)
def test_every_leaf_is_drawn_as_it_is(leaf: type[RouterError]) -> None:
    row = drawn()[leaf.__name__]

    if leaf.__name__ in ("BadRequest", "Rejected"):
        return
    told = [leaf.code, str(leaf.status), leaf.retry] + ([leaf.type] if leaf.__name__ != "Left" else [])
    assert [word for word in row if word in told] == told


def test_nothing_is_drawn_that_does_not_exist() -> None:
    assert set(drawn()) == FAMILIES | {leaf.__name__ for leaf in LEAVES}


@pytest.mark.parametrize("code", typing.get_args(RejectCode))
def test_every_reject_of_the_policy_has_its_error(code: RejectCode) -> None:
    error = from_reject(Reject(code, "no route matches", "model"))

    assert type(error) is OF_REJECT[code]
    assert error.message == "No route matches." + (f" {error.now}" if error.now else "")
    assert error.param == "model"


@pytest.mark.parametrize("kind", typing.get_args(Kind))
@pytest.mark.parametrize("stream", [True, False])
def test_every_kind_of_upstream_failure_has_its_error_and_its_outcome(kind: Kind, stream: bool) -> None:
    failure = UpstreamError(kind, "what happened", sent=True, status=500 if kind == "rejected" else None)

    error, outcome = from_upstream(failure, "m"), outcome_of(failure, stream=stream, content_sent=False)

    assert 400 <= error.status < 600
    assert outcome.failed in WHAT_NEXT
    assert kind in OF_KIND or kind in ("rejected", "unsupported")


def test_a_late_answer_in_one_piece_may_have_been_done_and_is_lost() -> None:
    late = UpstreamError("first_content_timeout", "late", sent=True)

    assert outcome_of(late, stream=True, content_sent=False).failed == "late"
    assert outcome_of(late, stream=False, content_sent=False).failed == "lost"


@given(st.integers(400, 599))
def test_a_refusal_keeps_its_status_but_for_what_is_ours(status: int) -> None:
    error = from_upstream(UpstreamError("rejected", "x", sent=False, status=status), "m")

    assert error.status == {401: 502, 403: 502, 529: 503}.get(status, status)


@given(
    st.binary(max_size=80) | st.sampled_from([b'{"error":{"message":1,"param":[],"code":{}}}', b'{"error":[]}', b"{}"])
)
def test_any_body_of_a_refusal_reads_as_strings_or_nothing(body: bytes) -> None:
    told = read_error(body)

    assert isinstance(told.message, str)
    assert all(value is None or isinstance(value, str) for value in (told.type, told.param, told.code))


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"m"}}',
        b'{"error":"m"}',
        b'{"message":"m"}',
        b'{"detail":"m"}',
        b'{"object":"error","message":"m"}',
    ],
)
def test_the_shapes_in_which_servers_report_are_read(body: bytes) -> None:
    assert read_error(body).message == "m"


@pytest.mark.parametrize("shown", ["kA-se*****9999", "sk-abcdefghij", "key sk-proj-123456 is bad"])
def test_fragments_of_keys_do_not_pass(shown: str) -> None:
    error = from_upstream(
        UpstreamError("rejected", "", sent=False, status=400, body=b'{"error":"%b"}' % shown.encode()), "m"
    )

    assert "***" in error.message
    assert not any(part in error.message for part in ("9999", "abcdefghij", "123456"))


def test_clients_are_told_when_retrying_is_useless_and_when_to_come_back() -> None:
    assert reply_headers(errors.KeyRefused("x")) == {"x-should-retry": "false"}
    assert reply_headers(errors.Misconfigured("x")) == {"x-should-retry": "false"}
    assert reply_headers(errors.Busy("x")) == {"retry-after": "1"}
    assert "retry-after" in reply_headers(errors.Draining("x", headers={"connection": "close"}))
    assert reply_headers(errors.BadRequest("x")) == {}


@given(st.text())
def test_any_text_is_fit_for_a_header(text: str) -> None:
    line = one_line(text)

    assert line.isascii()
    assert not any(ord(letter) < 32 or ord(letter) == 127 for letter in line)
    assert len(line) == len(text)
    assert safe_headers({"x": text}) == {"x": line}

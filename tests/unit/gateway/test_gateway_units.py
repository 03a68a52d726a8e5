"""Of whom a request is, as digests: the same for the same, another for another tenant, nothing of what nobody says."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.dialects.anthropic_messages.request import read_messages
from backends.dialects.openai_chat.request import read_chat
from gateway.request.identity import ANONYMOUS, Principal, tenant_salt
from gateway.request.reading.units import units_of

EVERY = frozenset({"user", "api_key", "conversation", "request"})
QUESTION = {"role": "user", "content": "why?"}


def chat(**body):
    return read_chat(json.dumps({"model": "auto", "messages": [QUESTION], **body}).encode())


def messages(**body):
    return read_messages(json.dumps({"model": "auto", "max_tokens": 9, "messages": [QUESTION], **body}).encode())


def units(request, headers=None, principal=ANONYMOUS, request_id="req_1"):
    return units_of(EVERY, request, principal, headers or {}, request_id)


def test_a_user_is_named_in_either_dialect_and_by_the_newer_field():
    found = [
        units(chat(user="u1")),
        units(chat(safety_identifier="u1")),
        units(chat(metadata={"user_id": "u1"})),
        units(messages(metadata={"user_id": "u1"})),
    ]

    assert len({one["user"] for one in found}) == 1
    assert units(chat(user="u2"))["user"] != found[0]["user"]
    assert "u1" not in found[0]["user"]


def test_nulls_beside_a_name_hide_nothing():
    assert "user" in units(chat(user="u", metadata=None))
    assert "user" in units(chat(user=None, metadata={"user_id": "u", "conversation_id": None}))


def test_who_does_not_say_has_no_unit():
    assert units(chat()).keys() == {"conversation", "request"}
    assert units(chat(), {"authorization": "Bearer k1"}).keys() == {"conversation", "request", "api_key"}
    assert units_of(frozenset(), chat(user="u"), ANONYMOUS, {}, "r") == {}


def test_tenants_never_share_units():
    one, other = (Principal(tenant=name, salt=tenant_salt(name)) for name in ("a", "b"))

    assert set(units(chat(user="u"), principal=one).values()).isdisjoint(
        units(chat(user="u"), principal=other).values()
    )


def test_turns_of_a_conversation_are_one_unit_and_other_openings_are_another():
    system = {"role": "system", "content": "be brief"}
    later = [QUESTION, {"role": "assistant", "content": "so"}, {"role": "user", "content": "and?"}]

    assert units(chat())["conversation"] == units(chat(messages=later))["conversation"]
    assert units(chat())["conversation"] != units(chat(messages=[system, QUESTION]))["conversation"]


def test_a_named_conversation_is_what_its_name_says_whatever_is_in_it():
    by_header = [units(chat(messages=[{"role": "user", "content": text}]), {"x-conversation-id": "c"}) for text in "ab"]
    by_body = units(chat(metadata={"conversation_id": "c"}))

    assert by_header[0]["conversation"] == by_header[1]["conversation"] == by_body["conversation"]


def test_a_request_is_a_unit_of_its_own():
    assert units(chat(), request_id="req_1")["request"] != units(chat(), request_id="req_2")["request"]


@given(
    st.dictionaries(
        st.sampled_from(["user", "metadata", "safety_identifier"]), st.from_type(type(None)) | st.integers() | st.text()
    )
)
def test_whatever_else_stands_there_says_nothing_and_breaks_nothing(fields):
    request = msgspec.structs.replace(chat(), raw=json.dumps(fields).encode())

    assert set(units(request)) <= {"user", "conversation", "request"}


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"user": "\\ud800"}'])
def test_a_body_that_cannot_be_read_names_nobody(body):
    assert "user" not in units(msgspec.structs.replace(chat(), raw=body))


def test_a_policy_says_where_a_conversation_is_named():
    wanted = frozenset({"conversation"})
    named = units_of(wanted, chat(), ANONYMOUS, {"x-thread": "t"}, "r", id_from=("header.x-thread",))
    elsewhere = units_of(wanted, chat(metadata={"thread": "t"}), ANONYMOUS, {}, "r", id_from=("body.metadata.thread",))

    assert named == elsewhere
    assert units_of(wanted, chat(), ANONYMOUS, {}, "r", id_from=("header.x-thread",)) == {}, (
        "how it opens does not count"
    )

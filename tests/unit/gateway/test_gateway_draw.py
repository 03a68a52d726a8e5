"""The draw of a conversation hangs on how it opens, and on the tenant."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.messages import ChatRequest, Message
from backends.remote.prefix import prefix_blocks
from gateway.request.reading.draw import draw_of

SALT, OTHER = b"a tenant's", b"another's"
TEXT = st.text(max_size=30)


def asked(*messages: Message) -> ChatRequest:
    return ChatRequest(raw=b"", model="auto", messages=messages)


@settings(max_examples=100, deadline=None)
@given(TEXT, TEXT, st.lists(st.tuples(st.sampled_from(["assistant", "user", "tool"]), TEXT), max_size=6))
def test_every_turn_of_a_conversation_has_the_draw_of_its_first(
    system: str, first: str, later: list[tuple[str, str]]
) -> None:
    opening = (Message(role="system", text=system), Message(role="user", text=first))
    rest = tuple(Message(role=role, text=text) for role, text in later)  # type: ignore[arg-type]

    draw = draw_of(asked(*opening), SALT)

    assert 0 <= draw < 1
    assert draw_of(asked(*opening, *rest), SALT) == draw


@settings(max_examples=100, deadline=None)
@given(TEXT, TEXT, TEXT, TEXT)
def test_another_opening_or_another_tenant_has_another_draw(a: str, b: str, c: str, d: str) -> None:
    one = asked(Message(role="system", text=a), Message(role="user", text=b))
    other = asked(Message(role="system", text=c), Message(role="user", text=d))

    assert (draw_of(one, SALT) == draw_of(other, SALT)) is ((a, b) == (c, d))
    assert draw_of(one, SALT) != draw_of(one, OTHER)


def test_draws_are_spread_evenly() -> None:
    draws = sorted(draw_of(asked(Message(role="user", text=f"question {i}")), SALT) for i in range(2_000))

    assert max(abs(draw - (i + 0.5) / 2_000) for i, draw in enumerate(draws)) < 1.63 / 2_000**0.5


TOOLS = ({"type": "function", "function": {"name": "f"}},)
PLACE = "What is the capital of France? " * 20
SHORT = ChatRequest(
    raw=b"",
    model="auto",
    messages=(
        Message(role="system", text="Be brief."),
        Message(role="user", text=PLACE, images=1),
        Message(role="assistant", text="Paris."),
    ),
    tools=TOOLS,
)
LONG = asked(Message(role="user", text="long words " * 600))


@pytest.mark.parametrize(
    ("request_", "draw", "key"),
    [
        (SHORT, 0.0955710129998506, "6703def1027b8269680e0ac23cc68ec8"),
        (LONG, 0.062210340770794126, "2f4864391969eaeab7e41843c130b316"),
    ],
)
def test_draws_and_keys_outlive_a_version_so_that_a_rollout_neither_moves_nor_forgets_a_conversation(
    request_: ChatRequest, draw: float, key: str
) -> None:
    salt = b"s" * 32

    assert draw_of(request_, salt) == draw
    assert prefix_blocks(request_, "m", salt)[-1].hex() == key

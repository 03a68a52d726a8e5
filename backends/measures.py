"""What is reckoned of the prompt of one request, each once: by one walk over its messages, and what others add."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from backends.messages import ChatRequest

LONG_CHARS = 4_096
"""Texts above this are counted once, and remembered."""


class Measures(msgspec.Struct):
    """`texts` of all messages and `asked` by users, where there is something; how many messages are of users, lie up to the
    first of those (`opening`; all where there is none) and up to the last answer (`answered`), and how many characters the
    longest text has. `is_plain`: nothing but text, and no turn of tools.

    Added by who reckons it: the estimated tokens; the keys of the prefix by the seed of their chain, which names the model
    and the tenant; digests of the texts of messages by their place; the tools as JSON.
    """

    texts: list[str]
    asked: list[str]
    of_users: int
    opening: int
    answered: int
    longest: int
    is_plain: bool
    tokens: int | None = None
    chains: dict[bytes, tuple[bytes, ...]] = {}
    imprints: dict[int, bytes] = {}
    tools: bytes | None = None


class Measured:
    """Keeps the measures of a request in the request from the first look on."""

    def __get__(self, request: "ChatRequest", kind: "type[ChatRequest]") -> Measures:
        texts: list[str] = []
        asked: list[str] = []
        of_users = opening = answered = count = 0
        is_plain = True
        for turn in request.messages:
            count += 1
            role, text = turn.role, turn.text
            texts.append(text)
            if role == "user":
                of_users += 1
                if not opening:
                    opening = count
                if text:
                    asked.append(text)
            elif role == "assistant":
                answered = count
            if is_plain and (
                turn.images
                or turn.audio
                or turn.files
                or turn.documents
                or turn.tokens
                or turn.tool_calls
                or role == "tool"
            ):
                is_plain = False
        longest = max(map(len, texts), default=0)
        found = Measures(texts, asked, of_users, opening or count, answered, longest, is_plain)
        request.__dict__["measures"] = found
        return found

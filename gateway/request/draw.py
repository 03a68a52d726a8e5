"""The draw of a conversation: by how it opens, so that all its turns have the same one, on whichever process.

Whoever asks the same first question under the same system prompt again has the same draw again: that is the price of
holding no state. Tenants never share draws.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b

from backends.messages import ChatRequest, Message
from policies.affinity.imprint import Imprint

LONG_CHARS = 4_096
"""Openings above this are remembered, for they come with every turn."""

REMEMBERED = 4_096

Form = tuple[str, int, int, int, tuple[int, ...]]
"""Of a message all but its text."""


def draw_of(request: ChatRequest, salt: bytes) -> float:
    """In [0, 1), evenly over openings. `salt` is the tenant's."""
    forms, texts = [], []
    for turn in opening(request):
        forms.append((turn.role, turn.images, turn.audio, turn.files, turn.token_ids))
        texts.append(turn.text)
    if sum(map(len, texts)) > LONG_CHARS:
        return _again(salt, tuple(forms), tuple(map(Imprint, texts)))
    return _draw(salt, forms, texts)


@lru_cache(maxsize=REMEMBERED)
def _again(salt: bytes, forms: tuple[Form, ...], texts: tuple[Imprint[str], ...]) -> float:
    return _draw(salt, forms, [text.take() for text in texts])


def _draw(salt: bytes, forms: Iterable[Form], texts: Iterable[str]) -> float:
    found = blake2b(digest_size=8, key=salt, person=b"turnout-draw")
    for (role, images, audio, files, token_ids), text in zip(forms, texts, strict=True):
        said = text.encode("utf-8", "surrogatepass")
        found.update(f"{role}:{images}:{audio}:{files}:{len(said)}:".encode())
        found.update(said)
        found.update(repr(token_ids).encode() if token_ids else b"")
    return (int.from_bytes(found.digest(), "big") >> 11) / (1 << 53)


def opening(request: ChatRequest) -> Iterator[Message]:
    """Every message up to the first of the user, which no later turn changes."""
    for message in request.messages:
        yield message
        if message.role == "user":
            return

"""The draw of a conversation: by how it opens, so that all its turns have the same one, on whichever process.

Whoever asks the same first question under the same system prompt again has the same draw again: that is the price of
holding no state. Tenants never share draws.
"""

from collections.abc import Iterator
from hashlib import blake2b

from backends.messages import ChatRequest, Message


def draw_of(request: ChatRequest, salt: bytes) -> float:
    """In [0, 1), evenly over openings. `salt` is the tenant's."""
    found = blake2b(digest_size=8, key=salt, person=b"turnout-draw")
    for message in opening(request):
        text = message.text.encode("utf-8", "surrogatepass")
        found.update(f"{message.role}:{message.images}:{message.audio}:{message.files}:{len(text)}:".encode())
        found.update(text)
        found.update(repr(message.token_ids).encode() if message.token_ids else b"")
    return (int.from_bytes(found.digest(), "big") >> 11) / (1 << 53)


def opening(request: ChatRequest) -> Iterator[Message]:
    """Every message up to the first of the user, which no later turn changes."""
    for message in request.messages:
        yield message
        if message.role == "user":
            return

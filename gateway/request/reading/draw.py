"""The draw of a conversation: by how it opens, so that all its turns have the same one, on whichever process.

Whoever asks the same first question under the same system prompt again has the same draw again: that is the price of
holding no state. Tenants never share draws.
"""

from collections.abc import Sequence
from hashlib import blake2b

from backends.measures import LONG_CHARS
from backends.messages import ChatRequest, Message
from backends.remote.prompt import imprint_of
from policies.affinity.imprint import Remembered, imprint

Form = tuple[str, int, int, int, tuple[int, ...], bytes]
"""Of a message all but its text."""

_DRAWS: Remembered[tuple[bytes, tuple[tuple[Form, bytes], ...]], float] = Remembered(8_192)
"""Long openings, for they come with every turn: by the tenant's salt, and of each message its form and the imprint of its
text."""


def draw_of(request: ChatRequest, salt: bytes) -> float:
    """In [0, 1), evenly over openings. `salt` is the tenant's."""
    measures = request.measures
    turns = request.messages[: measures.opening]
    return _draw(turns, salt) if measures.longest <= LONG_CHARS else _again(request, turns, salt)


def _again(request: ChatRequest, turns: Sequence[Message], salt: bytes) -> float:
    known_by = salt, tuple([(form_of(turn), imprint_of(request, place)) for place, turn in enumerate(turns)])
    found = _DRAWS.get(known_by)
    if found is None:
        found = _draw(turns, salt)
        _DRAWS.put(known_by, found)
    return found


def form_of(turn: Message) -> Form:
    documents = imprint(turn.documents) if turn.documents else b""
    return turn.role, turn.images, turn.audio, turn.files, turn.token_ids, documents


def _draw(turns: Sequence[Message], salt: bytes) -> float:
    said: list[bytes] = []
    for turn in turns:
        text, ids = turn.text.encode("utf-8", "surrogatepass"), turn.token_ids
        said += (f"{turn.role}:{turn.images}:{turn.audio}:{turn.files}:{len(text)}:".encode(), text)
        if ids:
            said.append(repr(ids).encode())
        if turn.documents:
            said.append(repr(turn.documents).encode("utf-8", "surrogatepass"))
    found = blake2b(b"".join(said), digest_size=8, key=salt, person=b"turnout-draw").digest()
    return (int.from_bytes(found) >> 11) / (1 << 53)


def opening(request: ChatRequest) -> Sequence[Message]:
    """Every message up to the first of the user, which no later turn changes."""
    return request.messages[: request.measures.opening]

"""What blocks hold beside what is said: documents, search results, what a server's own tools found. A model reads it; nobody
asks it."""

from dataclasses import dataclass, field

SEALED = "encrypted_"
"""What only the server that wrote it can read, in base64."""

SEALED_CHARS_PER_TOKEN = 4
_ELSEWHERE = ("base64", "url", "file")
"""Types of a source that is no text here: a PDF, or an address."""

_UNREAD = frozenset(("type", "id", "tool_use_id", "file_id", "media_type", "cache_control", "citations", "signature"))


@dataclass(slots=True)
class Beside:
    """What was taken so far. `tokens` are those of what is sealed, by its length; `files` has no text here."""

    texts: list[str] = field(default_factory=list)
    images: int = 0
    files: int = 0
    tokens: int = 0

    def take(self, value: object) -> None:
        """All that a block says, or a part of one, whatever its type is. Numbers say nothing.

        >>> (seen := Beside()).take({"type": "document", "title": "T", "source": {"type": "text", "data": "words"}})
        >>> seen.texts
        ['T', 'words']
        """
        if isinstance(value, str):
            self.texts.append(value)
        elif isinstance(value, list):
            for part in value:
                if not isinstance(part, int | float):
                    self.take(part)
        elif isinstance(value, dict):
            self._take_fields(value)

    def _take_fields(self, block: dict[str, object]) -> None:
        kind = block.get("type")
        if kind == "image":
            self.images += 1
        elif kind in _ELSEWHERE:
            self.files += 1
        else:
            for name, value in block.items():
                if name.startswith(SEALED):
                    self.tokens += len(value) // SEALED_CHARS_PER_TOKEN if isinstance(value, str) else 0
                elif name not in _UNREAD:
                    self.take(value)

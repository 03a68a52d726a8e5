"""One model's tokenizer: chats to ids, ids to text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from tokenizers import Tokenizer as Backend

from backends.engine.calls.reader import CallFormat
from backends.engine.text.control import ControlTokens, mark_for, strings_within
from backends.engine.text.detokenise import Detokeniser
from backends.engine.text.template import ChatTemplate, TemplateFault
from backends.errors import UpstreamError
from backends.messages import Message


class Tokenizer:
    """Made by `open_weights`. Encoding is safe from one thread at a time; decoders are independent of each other.

    `longest_token` is the most bytes of text that one token stands for. `begin` are the tokens that a text begins with, and
    `spaces_first` says that it is cut as if a space stood before its first word.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        pieces: Sequence[bytes],
        control: Mapping[str, int],
        template: ChatTemplate | None,
        eos_ids: Sequence[int],
        strips_first_space: bool = False,
        begin: Sequence[int] = (),
        spaces_first: bool = False,
    ) -> None:
        """`backend` must know no control token, so that plain text can never turn into one; `pieces` by id."""
        self._backend = backend
        self._pieces = pieces
        self._control = ControlTokens(control)
        self._template = template
        self._strips = strips_first_space
        self._begin = tuple(begin)
        self._spaces_first = spaces_first
        self.eos_ids = frozenset(eos_ids)
        self.control_ids = frozenset(control.values())
        self.vocab_size = len(pieces)
        self.longest_token = max(map(len, pieces), default=0)

    @property
    def call_format(self) -> CallFormat | None:
        """How this model writes tool calls; None when its template takes no tools."""
        return self._template.call_format if self._template is not None else None

    def encode(self, text: str) -> list[int]:
        """Plain text, exactly as it stands: no begin token, and control words in it are words."""
        # A batch of one: unlike `encode`, it lets other threads run, and leaves out offsets that nobody reads.
        ids: list[int] = self._backend.encode_batch_fast([text], add_special_tokens=False)[0].ids
        return ids

    def encode_chat(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        """The conversation in the model's own form, ending where its answer begins.

        The template writes the begin token where the model wants one. Raises UpstreamError (unsupported) when the model
        has no template, its template refuses the conversation, or a message carries an image.
        """
        turns, mark = self._turns(messages), mark_for(strings_within([[m.text, m.name] for m in messages] + [tools]))
        return self._encode_marked(self._render(turns, list(tools), mark), mark)

    def encode_prompt(self, text: str) -> list[int]:
        """A text that is to be continued as it stands: with its begin token, and with control words read as such."""
        parts = list(self._control.split(text, mark_for([text])))
        first = parts[0]
        if self._spaces_first and isinstance(first, str) and first and not first.startswith(" "):
            parts[0] = f" {first}"
        return [*self._begin, *self._encode_parts(parts)]

    def decoder(self) -> Detokeniser:
        """A fresh decoder for one answer."""
        return Detokeniser(self._pieces, strips_first_space=self._strips)

    def decode(self, ids: Sequence[int]) -> str:
        """The whole at once; control tokens add nothing."""
        decoder = self.decoder()
        return "".join([*map(decoder.push, ids), decoder.finish()])

    def token_bytes(self, token: int) -> bytes:
        """What this id adds to a text; empty for control tokens."""
        return self._pieces[token]

    def differs_from(self, other: "Tokenizer") -> str | None:
        """What keeps ids of the one from meaning the same to the other, in words; None when nothing does."""
        if len(self._pieces) != len(other._pieces):
            return f"their vocabularies have {len(self._pieces)} and {len(other._pieces)} tokens"
        pairs = enumerate(zip(self._pieces, other._pieces, strict=True))
        odd = next((token for token, (mine, theirs) in pairs if mine != theirs), None)
        if odd is not None:
            return f"token {odd} means {self._pieces[odd]!r} and {other._pieces[odd]!r}"
        same = (self.control_ids, self.eos_ids) == (other.control_ids, other.eos_ids)
        return None if same else "their control or end tokens differ"

    def _turns(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        if any(message.images for message in messages):
            raise UpstreamError("unsupported", "this model reads no images", sent=False, param="messages")
        as_system = self._template is not None and not self._template.knows_developer
        return [_turn(message, as_system) for message in messages]

    def _render(self, turns: list[dict[str, Any]], tools: list[Any], mark: str) -> str:
        if self._template is None:
            raise UpstreamError("unsupported", "this model has no chat template", sent=False, param="messages")
        marked = [{**self._control.marked_within(turn, mark), "role": turn["role"]} for turn in turns]
        try:
            return self._template.render(marked, self._control.marked_within(tools, mark))
        except TemplateFault as fault:
            raise UpstreamError("unsupported", str(fault), sent=False, param="messages") from fault

    def _encode_marked(self, rendered: str, mark: str) -> list[int]:
        return self._encode_parts(self._control.split(rendered, mark))

    def _encode_parts(self, parts: Iterable[str | int]) -> list[int]:
        ids: list[int] = []
        for part in parts:
            ids += [part] if isinstance(part, int) else self.encode(part) if part else []
        return ids


def _turn(message: Message, developer_as_system: bool) -> dict[str, Any]:
    """The mapping that templates read. Content is always a text: null, absent and empty are alike."""
    role = "system" if message.role == "developer" and developer_as_system else message.role
    turn: dict[str, Any] = {"role": role, "content": message.text}
    if message.tool_calls:
        turn["tool_calls"] = [_call(call) for call in message.tool_calls]
    named = {"tool_call_id": message.tool_call_id, "name": message.name}
    return turn | {key: value for key, value in named.items() if value}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A tool call with its arguments as a mapping: templates write them out with `tojson` themselves."""
    function = call.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("arguments"), str):
        return dict(call)
    try:
        arguments = msgspec.json.decode(function["arguments"])
    except (msgspec.DecodeError, RecursionError):
        return dict(call)
    return {**call, "function": {**function, "arguments": arguments}}

"""Stand-ins for a model and a tokenizer: a script, a bag, and one whose logits depend on every token it can see in the KV."""

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from hashlib import shake_128
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends.engine.api import BLOCK_TOKENS, Step
from backends.engine.draft.drafter import Outlook, Wanted
from backends.engine.sampler import Sampler
from backends.engine.sequence import Sequence
from backends.engine.text.detokenise import Detokeniser
from backends.messages import Message

Logits = NDArray[np.float32]
FAR_BELOW = -50.0


class StubVocabulary:
    """`pieces` maps ids to text; `<0xNN>` is a byte, U+2581 a space. The other ids, and `eos`, have none."""

    def __init__(self, pieces: Mapping[int, str] | None = None, *, eos: int | None = 0, size: int = 64) -> None:
        self.eos_ids = frozenset() if eos is None else frozenset({eos})
        self._pieces = [b""] * size
        for token, text in (pieces or {token: f"{token} " for token in range(size)}).items():
            self._pieces[token] = b"" if token in self.eos_ids else _piece_bytes(text)

    def decoder(self) -> Detokeniser:
        return Detokeniser(self._pieces, strips_first_space=False)

    def token_bytes(self, token: int) -> bytes:
        return self._pieces[token]

    def encode_chat(self, messages: Seq[Message], tools: Seq[Mapping[str, Any]] = ()) -> list[int]:
        """One id for every character, never an end token."""
        return self.encode_prompt("".join(message.text for message in messages))

    def encode_prompt(self, text: str) -> list[int]:
        return [3 + ord(character) % 50 for character in text]


def _piece_bytes(text: str) -> bytes:
    if text.startswith("<0x"):
        return bytes([int(text[3:5], 16)])
    return text.replace("\u2581", " ").encode()


class ScriptModel:
    """The greedy token at output position i is `script[i]` (the last one for ever) for a prompt of `prompt` tokens."""

    context = 4096

    def __init__(self, script: Seq[int], *, prompt: int, vocab_size: int = 64, blocks: int = 64) -> None:
        self.vocab_size = vocab_size
        self.blocks = blocks
        self._script = script
        self._prompt = prompt

    def forward(self, step: Step) -> Logits:
        logits = np.full((len(step.logit_rows), self.vocab_size), FAR_BELOW, np.float32)
        for row, position in enumerate(step.positions[step.logit_rows]):
            output = min(int(position) - self._prompt + 1, len(self._script) - 1)
            logits[row, self._script[output]] = 0
        return logits


class BagModel:
    """The same logits everywhere."""

    context = 4096

    def __init__(self, logits: Mapping[int, float], *, vocab_size: int = 64, blocks: int = 64) -> None:
        self.vocab_size = vocab_size
        self.blocks = blocks
        self._logits = np.full(vocab_size, FAR_BELOW, np.float32)
        self._logits[list(logits)] = list(logits.values())

    def forward(self, step: Step) -> Logits:
        return np.tile(self._logits, (len(step.logit_rows), 1))


class PrefixModel:
    """Logits are a hash of all tokens up to the row, read from a paged KV pool. One wrong block changes everything.

    The pool starts as noise and keeps what was written. `rows` counts the rows of every forward pass.
    """

    def __init__(self, *, blocks: int = 64, vocab_size: int = 16, context: int = 4096, sharpness: float = 4.0) -> None:
        self.vocab_size = vocab_size
        self.context = context
        self.blocks = blocks
        self.rows: list[int] = []
        self._sharpness = sharpness
        self._pool = np.random.default_rng(7).integers(0, 1 << 30, (blocks, BLOCK_TOKENS), dtype=np.int32)

    def forward(self, step: Step) -> Logits:
        self.rows.append(len(step.tokens))
        _check(step, self.blocks)
        home = step.tables[step.sequence, step.positions // BLOCK_TOKENS]
        self._pool[home, step.positions % BLOCK_TOKENS] = step.tokens
        return np.stack([self._logits(step, row) for row in step.logit_rows] or [np.zeros(self.vocab_size)])[
            : len(step.logit_rows)
        ].astype(np.float32)

    def _logits(self, step: Step, row: int) -> NDArray[np.float64]:
        seen = self._pool[step.tables[step.sequence[row]]].ravel()[: step.positions[row] + 1]
        noise = np.frombuffer(shake_128(seen.tobytes()).digest(2 * self.vocab_size), np.uint16)
        return self._sharpness * noise / 65536


def _check(step: Step, blocks: int) -> None:
    """What the border promises to a model."""
    assert step.tokens.dtype == step.positions.dtype == step.sequence.dtype == step.tables.dtype == np.int32
    assert len(step.tokens) == len(step.positions) == len(step.sequence) > 0
    assert step.tables.min() >= 0
    assert step.tables.max() < blocks
    assert (np.diff(step.sequence) >= 0).all()
    assert (np.diff(step.positions)[np.diff(step.sequence) == 0] == 1).all()


class FailingModel:
    """Works until `fails` says otherwise."""

    def __init__(self, inner: PrefixModel) -> None:
        self.vocab_size, self.context, self.blocks = inner.vocab_size, inner.context, inner.blocks
        self.fault: Exception | None = None
        self._inner = inner

    def forward(self, step: Step) -> Logits:
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        return self._inner.forward(step)


class Lookup:
    """A drafter that costs nothing and has one grade; what it guesses is said by `following`."""

    first_chances = (0.5,)

    def following(self, sequence: Sequence, at_most: int) -> list[int]:
        raise NotImplementedError

    def begin(self, job_id: int, sampler: Sampler) -> None:
        pass

    def outlook(self, sequence: Sequence, at_most: int) -> Outlook:
        return Outlook(min(at_most, len(self.following(sequence, at_most))))

    def guess(self, wanted: Seq[Wanted]) -> list[list[int]]:
        return [self.following(sequence, length)[:length] for sequence, _, length in wanted]

    def seconds(self, rows: int) -> float:
        return 0.0

    def forget(self, job_id: int) -> None:
        pass


class OracleDrafter(Lookup):
    """Knows how each prompt goes on, and says so, or says something else throughout."""

    def __init__(self, answers: Mapping[tuple[int, ...], Seq[int]], *, lies: bool = False) -> None:
        self._answers = answers
        self._lies = lies

    def following(self, sequence: Sequence, at_most: int) -> list[int]:
        answer = self._answers.get(sequence.job.prompt, ())
        done = len(sequence.tokens) - len(sequence.job.prompt)
        return [token ^ self._lies for token in answer[done : done + at_most]]


class FixedDrafter(Lookup):
    """The same guess at every step."""

    def __init__(self, guess: Seq[int]) -> None:
        self._guess = list(guess)

    def following(self, sequence: Sequence, at_most: int) -> list[int]:
        return self._guess


class FreeRows:
    """Draft rows cost nothing, so as many are verified as are offered."""

    def seconds(self, rows: int) -> float:
        return 1.0

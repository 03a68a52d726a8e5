"""The text side of one job: tokens in; text, log-probabilities and the end out. The rules of ending stand here, once.

A token is judged in this order, whether it was sampled alone or accepted from a draft: end token, stop string, length. So a
stop inside an accepted draft wins over the cap, and what lies behind the end is never seen.
"""

from collections import deque
from collections.abc import Container
from typing import Protocol

from backends.engine.api import EndReason, Job, Output
from backends.engine.stops import StopScanner
from backends.messages import TokenLogprob, Usage


class Detokeniser(Protocol):
    """Tokens to text, holding half characters back."""

    def push(self, token: int) -> str: ...

    def keep_first_space(self) -> None:
        """What comes goes on with a text."""
        ...

    def finish(self) -> str:
        """What is left of a character that was never completed."""
        ...


class Vocabulary(Protocol):
    """What the engine needs of a tokenizer."""

    @property
    def eos_ids(self) -> Container[int]: ...

    def decoder(self) -> Detokeniser: ...

    def token_bytes(self, token: int) -> bytes: ...


class Transcript:
    """Grows by one token at a time. `end` is set by the token that ends it."""

    def __init__(self, job_id: int, job: Job, vocabulary: Vocabulary) -> None:
        self._job_id = job_id
        self._job = job
        self._eos_ids = vocabulary.eos_ids
        self._decoder = vocabulary.decoder()
        if job.continues:
            self._decoder.keep_first_space()
        self._scanner = StopScanner(job.stop)
        self._seen = 0  # characters decoded
        self._shown = 0  # characters that may be shown
        self._entries: deque[tuple[int, TokenLogprob]] = deque()
        self._output = Output(job_id)
        self.tokens = 0
        self.end: EndReason | None = None

    def add(self, token: int, logprob: TokenLogprob | None) -> bool:
        """Take the next token; True if it is the last one."""
        self.tokens += 1
        self._output.tokens.append(token)
        if token in self._eos_ids:
            self._finish("stop")
        else:
            self._read(self._decoder.push(token), logprob)
            if self._scanner.found is not None:
                self.end = "stop"
            elif self.tokens >= self._job.max_tokens:
                self._finish("length")
        self._show_entries()
        return self.end is not None

    def take(self, cached: int) -> Output:
        """What was added since the last call; with usage at the end. `cached` prompt tokens were not computed."""
        output, self._output = self._output, Output(self._job_id)
        output.end = self.end
        if self.end is not None:
            output.usage = self.usage(cached)
            output.stopped_by = self._scanner.found or ""
        return output

    def usage(self, cached: int) -> Usage:
        return Usage(len(self._job.prompt), self.tokens, cached)

    def _read(self, piece: str, logprob: TokenLogprob | None) -> None:
        self._seen += len(piece)
        if logprob is not None:
            self._entries.append((self._seen, logprob))
        self._show(self._scanner.push(piece))

    def _finish(self, reason: EndReason) -> None:
        """The end token or the cap was met: a stop string may still stand in what the detokeniser held back."""
        self._show(self._scanner.push(self._decoder.finish()))
        self.end = "stop" if self._scanner.found is not None else reason
        if self._scanner.found is None:
            self._show(self._scanner.rest())

    def _show(self, text: str) -> None:
        self._output.text += text
        self._shown += len(text)

    def _show_entries(self) -> None:
        """Log-probabilities are cut where the text is cut: a token is shown when all of its text is."""
        while self._entries and self._entries[0][0] <= self._shown:
            self._output.logprobs.append(self._entries.popleft()[1])

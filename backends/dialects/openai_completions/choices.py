"""Choices of one answer in the making, in this dialect's own shapes."""

import codecs
from typing import Any

import msgspec

from backends.messages import ChatRequest, TokenLogprob

Shape = dict[str, Any]

_ECHO = msgspec.json.Decoder(dict[str, list[str]])


class Choices:
    """What each choice of a request begins with, and how its log-probabilities are told."""

    def __init__(self, request: ChatRequest) -> None:
        self._prompts = _ECHO.decode(request.echo)["prompts"] if request.echo else []
        self._each = request.n // max(1, len(self._prompts))
        self._shows_logprobs = request.sampling.logprobs
        self._offsets: dict[int, Offsets] = {}

    def beginning(self, index: int) -> str:
        """The prompt of choice `index`, where it is to be repeated."""
        return self._prompts[index // self._each] if self._prompts else ""

    def logprobs(self, index: int, tokens: tuple[TokenLogprob, ...]) -> Shape | None:
        """Of the next tokens of choice `index`; None where none are asked for, or none are there."""
        if not self._shows_logprobs or not tokens:
            return None
        return self._offsets.setdefault(index, Offsets()).told(tokens)


class Offsets:
    """Where each token begins in the text of its choice, in characters; one that only ends a character adds none."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._at = 0

    def told(self, tokens: tuple[TokenLogprob, ...]) -> Shape:
        """The older shape: four lists of one length. The chosen token is among the likeliest.

        >>> Offsets().told((TokenLogprob("é", "é".encode(), -0.5), TokenLogprob("!", b"!", -0.25)))["text_offset"]
        [0, 1]
        """
        offsets = []
        for token in tokens:
            offsets.append(self._at)
            self._at += len(self._decode(token.data))
        return {
            "tokens": [token.token for token in tokens],
            "token_logprobs": [token.logprob for token in tokens],
            "top_logprobs": [{one.token: one.logprob for one in (*token.top, token)} for token in tokens],
            "text_offset": offsets,
        }


def choice_object(index: int, text: str, logprobs: Shape | None, reason: str | None) -> Shape:
    return {"text": text, "index": index, "logprobs": logprobs, "finish_reason": reason}

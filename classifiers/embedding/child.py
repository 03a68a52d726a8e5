"""The child process of ChildEmbedder: reads frames of texts, writes frames of vectors, ends with its input."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

import msgspec
import numpy as np

from classifiers.embedding.embedder import Answer, read_frame, write_frame
from classifiers.embedding.encoder import Encoder, EncoderMissing, open_quick_encoder

_QUIET = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "TOKENIZERS_PARALLELISM": "false", "TQDM_DISABLE": "1"}


def main(source: str) -> None:
    """Serves until standard input ends. Whatever a library prints goes to standard error, never into a frame."""
    os.environ.update(_QUIET)
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        try:
            encode = open_quick_encoder(source, threads=1)
        except EncoderMissing as error:
            refuse_frames(str(error), sys.stdin.buffer, answers)
        else:
            encode_frames(encode, sys.stdin.buffer, answers)


def encode_frames(encode: Encoder, questions: IO[bytes], answers: IO[bytes]) -> None:
    """One frame of float32 rows per frame of texts, in order."""
    for frame in _frames(questions):
        rows = encode(msgspec.msgpack.decode(frame, type=list[str]))
        write_frame(answers, msgspec.msgpack.encode(Answer(np.ascontiguousarray(rows, dtype="<f4").tobytes())))


def refuse_frames(reason: str, questions: IO[bytes], answers: IO[bytes]) -> None:
    """The reason per frame of texts."""
    for _ in _frames(questions):
        write_frame(answers, msgspec.msgpack.encode(Answer(refused=reason)))


def _frames(questions: IO[bytes]) -> Iterator[bytes]:
    with suppress(EOFError):
        while True:
            yield read_frame(questions)


if __name__ == "__main__":
    main(sys.argv[1])

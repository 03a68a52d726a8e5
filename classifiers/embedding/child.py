"""The child process of ChildEmbedder: reads frames of texts, writes frames of vectors, ends with its input."""

import os
import sys
from typing import IO

import msgspec
import numpy as np

from classifiers.embedding.embedder import read_frame, write_frame
from classifiers.embedding.encoder import Encoder, open_quick_encoder

_QUIET = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "TOKENIZERS_PARALLELISM": "false", "TQDM_DISABLE": "1"}


def main(source: str) -> None:
    """Serves until standard input ends. Whatever a library prints goes to standard error, never into a frame."""
    os.environ.update(_QUIET)
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        encode_frames(open_quick_encoder(source, threads=1), sys.stdin.buffer, answers)


def encode_frames(encode: Encoder, questions: IO[bytes], answers: IO[bytes]) -> None:
    """One frame of float32 rows per frame of texts, in order."""
    while True:
        try:
            frame = read_frame(questions)
        except EOFError:
            return
        rows = encode(msgspec.msgpack.decode(frame, type=list[str]))
        write_frame(answers, np.ascontiguousarray(rows, dtype="<f4").tobytes())


if __name__ == "__main__":
    main(sys.argv[1])

"""A sentence encoder as its library opens it: from a folder, from what the hub left here, from the hub.

encoder.py is the only one that imports it.
"""

import logging
from pathlib import Path

import torch
from huggingface_hub.utils.tqdm import disable_progress_bars
from sentence_transformers import SentenceTransformer
from transformers.utils import logging as transformers_logging

from classifiers.embedding.hub import NotOpened, ask_hub, line_of

_TALKATIVE = ("sentence_transformers", "huggingface_hub", "transformers", "filelock")


def load_model(source: str, threads: int) -> SentenceTransformer:
    """What lies here is taken as it is, without a question to the hub. Sets torch's thread count for this process.

    Raises NotOpened.
    """
    torch.set_num_threads(threads)
    _hush()
    try:
        return SentenceTransformer(source, device="cpu", local_files_only=True)
    except Exception as error:  # whatever a library says of what is no encoder
        if Path(source).is_dir():
            raise NotOpened(line_of(error)) from error
    ask_hub(source)
    try:
        return SentenceTransformer(source, device="cpu")
    except Exception as error:
        raise NotOpened(line_of(error)) from error


def _hush() -> None:
    """Bars and warnings are for who works with a library; what matters of them is in NotOpened."""
    disable_progress_bars()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.ERROR)

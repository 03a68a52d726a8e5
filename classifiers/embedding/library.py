"""A sentence encoder as its library opens it: from a folder, from what the hub left here, from the hub.

encoder.py is the only one that imports it.
"""

import logging
from pathlib import Path

import torch
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from huggingface_hub.utils.tqdm import disable_progress_bars
from sentence_transformers import SentenceTransformer
from transformers.utils import logging as transformers_logging

HUB_WITHIN_S = 5.0
_TALKATIVE = ("sentence_transformers", "huggingface_hub", "transformers", "filelock")


class NotOpened(Exception):
    """The message says why."""


def load_model(source: str, threads: int) -> SentenceTransformer:
    """What lies here is taken as it is, without a question to the hub; the hub is asked once before anything is fetched, for
    its clients try for a minute. Sets torch's thread count for this process. Raises NotOpened."""
    torch.set_num_threads(threads)
    _hush()
    try:
        return SentenceTransformer(source, device="cpu", local_files_only=True)
    except Exception as error:  # whatever a library says of what is no encoder
        if Path(source).is_dir():
            raise NotOpened(_line(error)) from error
    _ask_hub(source)
    try:
        return SentenceTransformer(source, device="cpu")
    except Exception as error:
        raise NotOpened(_line(error)) from error


def _ask_hub(name: str) -> None:
    try:
        HfApi().model_info(name, timeout=HUB_WITHIN_S)
    except HFValidationError as error:
        raise NotOpened("it is no folder, and no name that a hub knows") from error
    except HfHubHTTPError:  # it answers: the library tries other names as well
        return
    except Exception as error:
        raise NotOpened(f"it is no folder, was never fetched, and the hub does not answer ({_line(error)})") from error


def _hush() -> None:
    """Bars and warnings are for who works with a library; what matters of them is in NotOpened."""
    disable_progress_bars()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.ERROR)


def _line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)

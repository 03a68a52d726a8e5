"""Which jobs can never run here, and what to tell their sender."""

from collections.abc import Sequence

from backends.engine.api import Job
from backends.errors import UpstreamError
from backends.messages import Message


def refuse_unfit(job: Job, window: int, vocab_size: int) -> None:
    """Raises `UpstreamError` too_long or unsupported. `window` bounds prompt and output together, in tokens."""
    if not job.prompt:
        raise UpstreamError("unsupported", "The prompt is empty.", sent=False, param="messages")
    prompt, output = len(job.prompt), job.max_tokens
    if prompt + output > window:
        raise UpstreamError("too_long", too_long(window, prompt, output), sent=False, param="messages")
    beyond = next((token for token in job.sampling.logit_bias if not 0 <= token < vocab_size), None)
    if beyond is not None:
        message = f"logit_bias names token {beyond}, but the vocabulary ends at {vocab_size - 1}."
        raise UpstreamError("unsupported", message, sent=False, param="logit_bias")


def refuse_unknown(messages: Sequence[Message], vocab_size: int) -> None:
    """Raises `UpstreamError` unsupported for ids that a client sent and that no token has."""
    highest = max((max(message.token_ids) for message in messages if message.token_ids), default=0)
    if highest >= vocab_size:
        message = f"the prompt names token {highest}, but the vocabulary ends at {vocab_size - 1}."
        raise UpstreamError("unsupported", message, sent=False, param="messages")


def too_long(window: int, prompt: int, output: int) -> str:
    """The sentence that clients look for.

    >>> too_long(8, 6, 4)[:44]
    "This model's maximum context length is 8 tok"
    """
    return (
        f"This model's maximum context length is {window} tokens. However, you requested {prompt + output} tokens "
        f"({prompt} in the messages, {output} in the completion)."
    )

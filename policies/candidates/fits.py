"""Do prompt and output fit into this model's window?"""

from policies.catalogue import Model
from policies.facts import Facts


def overflows_context(model: Model, facts: Facts) -> bool:
    """Prompt and output together, or the prompt and one token of output, are more than the window holds."""
    if model.fits.context is None:
        return False
    return in_window(model, facts) + (facts.max_tokens or 1) > model.fits.context


def in_window(model: Model, facts: Facts) -> int:
    """Tokens of the prompt that one window holds."""
    return facts.longest_tokens or facts.tokens_for(model.name)


def why_too_long(model: Model, facts: Facts) -> str:
    """Why the request does not fit `model`, with the numbers, or "".

    >>> from policies.catalogue import Fits
    >>> why_too_long(Model(name="small", fits=Fits(context=64)), Facts(prompt_tokens=60, max_tokens=10))
    'maximum context length is 64 tokens, but 70 are asked for: 60 of prompt and 10 of output'
    """
    if overflows_context(model, facts):
        prompt, output = in_window(model, facts), facts.max_tokens or 1
        numbers = f"{prompt + output} are asked for: {prompt} of prompt and {output} of output"
        return f"maximum context length is {model.fits.context} tokens, but {numbers}"
    if model.fits.output is not None and (facts.max_tokens or 0) > model.fits.output:
        return f"maximum output is {model.fits.output} tokens, but {facts.max_tokens} are asked for"
    return ""

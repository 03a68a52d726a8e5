"""What goes with a server of another dialect than Chat Completions, and what does not."""

from collections.abc import Iterator

from policies.catalogue import Model, Speaks
from policies.language.compile import NOT_IN
from policies.language.draft import Draft
from policies.language.problem import Problem
from policies.language.tree import Path


def spoken(draft: Draft, name: str, model: Model) -> Iterator[Problem]:
    """Problems of a model whose dialect is stated."""
    here: Path = ("models", name)
    if model.dialect == "openai_chat":
        return
    if model.run is not None or model.worker:
        yield draft.at_key((*here, "dialect"), "has no use: our own engine is asked in openai_chat")
        return
    if model.speaks != Speaks():
        told = f"has no use: it is for servers of openai_chat, and this one's is {model.dialect}"
        yield draft.at_key((*here, "speaks"), told)
    if lacks := sorted(model.can & NOT_IN[model.dialect]):
        told = f"has {', '.join(lacks)}, which cannot be asked for in the dialect {model.dialect}"
        yield draft.at_key((*here, "can"), told)
    if model.fits.output is None:
        told = f"needs fits: {{output: ...}}: in {model.dialect} every request has a limit, also where its client states none"
        yield draft.at_key(here, told)

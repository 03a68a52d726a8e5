"""Part of wiring: what the rungs of shadows need beside the gateway. Told at load, not at the first comparison."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from gateway.extras import needs
from gateway.settings import BadSettings
from policies.policy import Policy

if TYPE_CHECKING:
    from classifiers.embedding.embedder import Embedder


def refuse_missing(policy: Policy, embedder: str | None) -> None:
    """Raises BadSettings where a rung needs what is not installed."""
    rungs = {rung for shadow in policy.shadows for rung in shadow.compare}
    if "edit" in rungs:
        with needs("shadow", "a shadow compares by edit"):
            import rapidfuzz.distance  # noqa: F401  here, for importing takes longer than the event loop has
    if "embedding" in rungs:
        with needs("classify", "a shadow compares by embedding"):
            require("sentence_transformers")
        encoder_at(embedder)


def require(module: str) -> None:
    if find_spec(module) is None:
        raise ModuleNotFoundError(f"no module named {module}", name=module)


def encoder_at(embedder: str | None) -> str:
    """Where the sentence encoder lies. Raises BadSettings."""
    from classifiers.embedding.encoder import EncoderMissing, find_encoder

    try:
        return find_encoder(embedder)
    except EncoderMissing as error:
        raise BadSettings(f"a shadow compares by embedding: {error}") from error


def open_embeds(embedder: str | None) -> "Embedder":
    """A process of its own: the one of the classifier is for requests. It starts with the first text. Raises BadSettings."""
    from classifiers.embedding.embedder import ChildEmbedder

    return ChildEmbedder(encoder_at(embedder))

"""Part of wiring: in which dialect the servers of a model are asked."""

from collections.abc import Mapping

from backends.dialects.anthropic_messages.server.server import MessagesServer
from backends.dialects.openai_chat.forward import Habits, Heeds
from backends.dialects.openai_chat.server import ChatServer
from backends.remote.dialect import ServerDialect
from policies.catalogue import Model, Thinks

HEEDS: Mapping[Thinks, Heeds] = {"tell": "all", "pass": "words", "drop": "nothing", "refuse": "nothing"}


def dialect_of(model: Model) -> ServerDialect:
    """How the servers of a model are asked and heard."""
    if model.dialect == "anthropic":
        assert model.fits.output is not None, "a policy without it is refused"
        thinks = HEEDS[model.thinking] != "nothing"
        return MessagesServer(model.name, model.serves, model.fits.output, thinks=thinks)
    speaks = model.speaks
    habits = Habits(
        limit_field=speaks.limit, knows_developer=speaks.developer == "developer", thinks=HEEDS[model.thinking]
    )
    return ChatServer(model.name, model.serves, habits)


def made_of(model: Model) -> object:
    """Equal for two models whose servers are asked alike."""
    return model.dialect, model.speaks, model.thinking, model.fits.output if model.dialect == "anthropic" else None

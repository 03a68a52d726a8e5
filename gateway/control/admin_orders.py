"""What a person asks of an experiment or a rollout, as an order that makes sense; or why it does not."""

import msgspec

from gateway.errors import BadRequest, Conflict
from gateway.experiments.chapter import Chapter
from gateway.experiments.shelf import Order
from gateway.experiments.telling import misfit


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of an order. `variant` is who gets everybody; the winner where it is "" ."""

    variant: str = ""


class Asked(msgspec.Struct, frozen=True):
    """An order as it came. `at` in seconds since the epoch."""

    action: str
    wanted: Wanted
    at: float


def order_of(chapter: Chapter, asked: Asked) -> Order:
    """Raises BadRequest, Conflict."""
    if asked.wanted.variant and asked.action != "promote":
        raise BadRequest(f"Only promote takes a variant; {asked.action} takes no body.", param="variant")
    if asked.action == "stop":
        return Order("stop", chapter.experiment.control, asked.at)
    if asked.action == "promote":
        return Order("promote", promoted(chapter, asked.wanted.variant), asked.at)
    if wrong := misfit(chapter, asked.action, asked.at):
        raise Conflict(f"{wrong}.")
    return msgspec.convert({"action": asked.action, "variant": "", "at": asked.at}, Order)


def promoted(chapter: Chapter, stated: str) -> str:
    """Raises BadRequest, Conflict."""
    weights = chapter.experiment.weights
    if stated and stated not in weights:
        raise BadRequest(f"The experiment has no such variant; it has: {', '.join(weights)}.", param="variant")
    verdict = chapter.verdict(chapter.seen_at)
    if not stated and verdict.outcome != "winner":
        raise Conflict(f'There is no winner: {verdict.words}. Send {{"variant": NAME}} to promote one all the same.')
    return stated or verdict.variant

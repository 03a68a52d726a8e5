"""GET /v1/models, as the client's dialect lists them: `auto`, and the models that its key may name."""

from collections.abc import Iterator
from urllib.parse import parse_qsl

import msgspec

from backends.dialects.anthropic_messages import models as anthropic
from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat import models as openai
from backends.dialects.openai_chat.body import LONGEST_NAME
from gateway.errors import BadRequest, ModelForbidden, UnknownModel
from gateway.house import Gateway
from gateway.pages.page import who_asks
from gateway.request.identity import Principal
from gateway.request.ingress import Receive, Scope, Send
from gateway.request.reply import send_whole
from gateway.request.whose import SPOKEN_BY_ANTHROPIC
from policies.facts import AUTO

MOST_FIELDS = 16
"""Fields of a query that are looked at."""


async def list_models(gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
    principal, headers = who_asks(gateway, scope)
    names = list(models_of(gateway, principal))
    if SPOKEN_BY_ANTHROPIC in headers:
        cards = [anthropic_card(gateway, name) for name in names]
        try:
            body = msgspec.json.encode(anthropic.page_of(cards, query_of(scope)))
        except RequestFault as fault:
            raise BadRequest(fault.message, param=fault.param) from fault
    else:
        body = msgspec.json.encode(openai.ModelList([openai_card(gateway, name) for name in names]))
    await send_whole(send, 200, body, {})


async def show_model(gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
    principal, headers = who_asks(gateway, scope)
    name = scope["path"].rstrip("/").rpartition("/models/")[2]
    if name != AUTO and name not in gateway.live.policy.models:
        raise UnknownModel(f"There is no model {name[:LONGEST_NAME]!r} here.", param="model")
    if name != AUTO and not principal.may_use(name):
        raise ModelForbidden(f"This key may not use {name!r}.", param="model")
    card_of = anthropic_card if SPOKEN_BY_ANTHROPIC in headers else openai_card
    await send_whole(send, 200, msgspec.json.encode(card_of(gateway, name)), {})


def models_of(gateway: Gateway, principal: Principal) -> Iterator[str]:
    yield AUTO
    yield from filter(principal.may_use, gateway.live.policy.models)


def openai_card(gateway: Gateway, name: str) -> openai.ModelCard:
    """Nobody said when a model was made; what can be said is since when it is offered here."""
    return openai.ModelCard(name, gateway.started_at)


def anthropic_card(gateway: Gateway, name: str) -> anthropic.ModelCard:
    model = gateway.live.policy.models.get(name)
    if model is None:
        return anthropic.ModelCard(id=name, display_name=name)
    fits = model.fits
    return anthropic.ModelCard(id=name, display_name=name, max_input_tokens=fits.context, max_tokens=fits.output)


def query_of(scope: Scope) -> dict[str, str]:
    """Raises RequestFault."""
    try:
        return dict(parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=MOST_FIELDS))
    except ValueError:
        raise RequestFault("The query has too many fields.") from None

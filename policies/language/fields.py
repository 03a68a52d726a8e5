"""Kinds of values in the policy file: names, addresses, references to secrets, quantities, one-or-many."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from policies.facts import AUTO
from policies.language.values import quantities
from policies.language.values.quantities import Share
from policies.policy import PROMPT_PREFIX, REQUESTED

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
RESERVED = (AUTO, REQUESTED, "concrete")
HEADER = re.compile(r"header\.[a-z0-9!#$%&'*+.^_`|~-]{1,64}")
HEADERS = "header.NAME"
"""Stands for all header keys of a map. Names are in lower case, so it is none itself."""

ID_SOURCE_PATTERN = r"^(header\.[a-z0-9!#$%&'*+.^_`|~-]{1,64}|body(\.[A-Za-z0-9_]{1,64}){1,2}|prompt_prefix)$"

HEADER_PATTERN = r"^header\.[a-z0-9!#$%&'*+.^_`|~-]{1,64}$"


def _listed(value: object) -> object:
    """One value stands for a list of one."""
    return value if isinstance(value, list | dict) or value is None else [value]


def _named(value: str) -> str:
    if value in RESERVED:
        raise ValueError(f"{value} has a meaning of its own in a request; choose another name")
    if not NAME.fullmatch(value):
        raise ValueError("should be a name: letters, digits and . _ : / -, at most 128 of them")
    return value


def _shown(value: str) -> str:
    if not value.isprintable() or not 0 < len(value) <= 128:
        raise ValueError("should be a title of at most 128 characters on one line")
    return value


def _address(value: str) -> str:
    if re.search(r"//[^/\s]*@", value):
        raise ValueError("holds credentials; a secret is never written here, use key: env:NAME")
    if not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", value):
        raise ValueError("should be a base address, such as http://127.0.0.1:9001/v1")
    return value


def _reference(value: str) -> str:
    if not re.fullmatch(r"env:[A-Za-z_][A-Za-z0-9_]*|file:\S+", value):
        raise ValueError("holds a secret itself; a secret is never written here, use env:NAME or file:PATH")
    return value


def _source(value: str) -> str:
    if not re.fullmatch(ID_SOURCE_PATTERN, value):
        raise ValueError(
            f"should be {PROMPT_PREFIX}, header.NAME with the name in lower case, or body.KEY, such as body.metadata.thread"
        )
    return value


def _one_or_many(kind: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [kind, {"type": "array", "items": kind, "minItems": 1}]})


def _enum(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


TOKENS_SCHEMA = WithJsonSchema(
    {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": f"^{quantities.TOKENS_PATTERN}$"}]}
)
TIME_SCHEMA = WithJsonSchema({"type": "string", "pattern": f"^{quantities.TIME_PATTERN}$"})
PRICE_SCHEMA = WithJsonSchema({"type": "string", "pattern": f"^{quantities.PRICE_PATTERN}$"})
SHARE_SCHEMA = WithJsonSchema({"type": "string", "pattern": f"^{quantities.SHARE_PATTERN}$"})

Has = Literal["tools", "images", "json_schema", "embeddings"]
Tokens = Annotated[int, BeforeValidator(quantities.tokens), TOKENS_SCHEMA]
Seconds = Annotated[float, BeforeValidator(quantities.seconds), TIME_SCHEMA]
Milliseconds = Annotated[int, BeforeValidator(quantities.milliseconds), TIME_SCHEMA]
TokenPrice = Annotated[int, BeforeValidator(quantities.price), PRICE_SCHEMA]
ShareOf = Annotated[Share, BeforeValidator(quantities.share), SHARE_SCHEMA]
Name = Annotated[str, AfterValidator(_named)]
Title = Annotated[str, AfterValidator(_shown)]
Address = Annotated[str, AfterValidator(_address)]
Addresses = Annotated[list[Address], Field(min_length=1), BeforeValidator(_listed), _one_or_many({"type": "string"})]
Texts = Annotated[list[str], Field(min_length=1), BeforeValidator(_listed), _one_or_many({"type": "string"})]
Needs = Annotated[
    list[Has],
    Field(min_length=1),
    BeforeValidator(_listed),
    _one_or_many(_enum("tools", "images", "json_schema", "embeddings")),
]
SecretText = Annotated[str, AfterValidator(_reference)]
IdSource = Annotated[str, AfterValidator(_source), WithJsonSchema({"type": "string", "pattern": ID_SOURCE_PATTERN})]

"""What all maps of the file have in common: unknown keys are errors, values are taken as written."""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from policies.language.fields import HEADER, HEADER_PATTERN, HEADERS, Texts


class Closed(BaseModel):
    """A map of the file: unknown keys are errors, values are never converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)
    exactly_one: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        stated = [key for key in self.exactly_one if getattr(self, key) is not None]
        if self.exactly_one and len(stated) != 1:
            keys = " and ".join([", ".join(self.exactly_one[:-1]), self.exactly_one[-1]])
            raise PydanticCustomError("exactly_one", "needs exactly one of {keys}", {"keys": keys})
        return self


def _header_keys(schema: dict[str, Any]) -> None:
    del schema["properties"][HEADERS]
    one = {"type": "string", "description": "Value of this request header; a list means any of them."}
    schema["patternProperties"] = {HEADER_PATTERN: {"anyOf": [one, {"type": "array", "items": one}]}}


class WithHeaders(Closed):
    """A map that also takes `header.NAME` keys, names in lower case."""

    model_config = ConfigDict(json_schema_extra=_header_keys)

    headers: dict[str, Texts] = Field(default={}, alias="header.NAME", description="Value of this request header.")
    """By key of the file, `header.` included."""

    @model_validator(mode="before")
    @classmethod
    def _gather_headers(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        gathered = {key: words for key, words in value.items() if HEADER.fullmatch(key)}
        return {**{key: words for key, words in value.items() if key not in gathered}, HEADERS: gathered}

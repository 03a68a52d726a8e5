"""Chat templates: Jinja programs that came with the weights, run in a sandbox with bounds on time and size.

The environment is the one that templates are written for (transformers' `apply_chat_template`): blocks trimmed, loop
controls, `tojson` without HTML escapes, `raise_exception`, `strftime_now`, `{% generation %}` as a plain block.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from backends.engine.calls.reader import format_of

MOST_SOURCE = 256 << 10
MOST_OUTPUT = 64 << 20
MOST_SECONDS = 2.0
_MOST_REPEATED = 1 << 20


class TemplateFault(Exception):
    """The template does not compile, refuses this conversation, or ran past its bounds."""


class _Generation(Extension):
    """`{% generation %}…{% endgeneration %}` marks the assistant's words for training; here it is what it encloses."""

    tags = {"generation"}  # noqa: RUF012  # the name and kind that jinja2 asks for

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Every loop turn, operator, attribute and call looks at the clock."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
        self.ends_at = float("inf")
        self.filters["tojson"] = _to_json
        self.filters["in_time"] = self.in_time
        self.globals |= {"raise_exception": _raise, "strftime_now": _now}

    def check(self) -> None:
        if time.monotonic() > self.ends_at:
            raise TemplateFault(f"the chat template ran for more than {MOST_SECONDS} s")

    def in_time(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self.check()
            yield value

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        self.check()
        if operator == "**" or (operator == "*" and _repeated(left, right) > _MOST_REPEATED):
            raise TemplateFault(f"the chat template asks for a {operator} of unbounded size")
        return super().call_binop(context, operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        self.check()
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        self.check()
        return super().getitem(obj, argument)


class ChatTemplate:
    """A compiled template. Safe to use from one thread at a time."""

    def __init__(self, source: str, constants: Mapping[str, str]) -> None:
        """`constants`: names such as bos_token. Raises TemplateFault when the source does not compile."""
        if len(source) > MOST_SOURCE:
            raise TemplateFault(f"the chat template has {len(source)} characters; {MOST_SOURCE} are allowed")
        self._sandbox = _Sandbox()
        self._constants = dict(constants)
        self.knows_developer = "developer" in source
        self.call_format = format_of(source)
        try:
            tree = self._sandbox.parse(source)
            _bound_loops(tree)
            self._template = self._sandbox.from_string(tree)
        except (jinja2.TemplateError, RecursionError, SyntaxError) as fault:
            raise TemplateFault(f"the chat template does not compile: {fault}") from fault

    def render(self, messages: list[dict[str, Any]], tools: list[Any], *, seconds: float = MOST_SECONDS) -> str:
        """The conversation up to and including the opening of the assistant's turn. Raises TemplateFault."""
        self._sandbox.ends_at = time.monotonic() + seconds
        given = {**self._constants, "messages": messages, "tools": tools or None, "documents": None}
        try:
            return _joined(self._template.generate(**given, add_generation_prompt=True), self._sandbox.check)
        except TemplateFault:
            raise
        except Exception as fault:  # a template is a program: whatever it raises is its refusal
            raise TemplateFault(f"the chat template refuses this conversation: {fault}") from fault


def _bound_loops(tree: nodes.Template) -> None:
    for loop in tree.find_all(nodes.For):
        if not loop.recursive:
            loop.iter = nodes.Filter(loop.iter, "in_time", [], [], None, None, lineno=loop.lineno)


def _joined(parts: Iterable[str], check: Callable[[], None]) -> str:
    whole, size = [], 0
    for part in parts:
        check()
        size += len(part)
        if size > MOST_OUTPUT:
            raise TemplateFault(f"the chat template wrote more than {MOST_OUTPUT >> 20} MiB")
        whole.append(part)
    return "".join(whole)


def _repeated(left: Any, right: Any) -> int:
    """Characters or items that `left * right` would make; 0 for numbers."""
    for many, times in ((left, right), (right, left)):
        if isinstance(many, str | list | tuple) and isinstance(times, int):
            return len(many) * times
    return 0


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None,
             sort_keys: bool = False) -> str:  # fmt: skip
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise(message: str) -> None:
    raise TemplateFault(str(message))


def _now(layout: str) -> str:
    return datetime.now().strftime(layout)

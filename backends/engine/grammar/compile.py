"""Schemas to grammars, each compiled once, on a thread of its own, within bounds that no schema can pass."""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from llguidance import LLMatcher, LLParserLimits

from backends.engine.grammar.asked import refused
from backends.engine.grammar.state import JsonGrammar, fault_of
from backends.engine.grammar.vocabulary import GrammarVocabulary, read_vocabulary
from backends.errors import UpstreamError

CACHED = 64
MOST_WAITING = 32

SPACE = r"( |\n {0,32})?"
"""White space between two parts of the JSON: none, one space, or a new line and its indentation.

As much as JSON allows would let a weak model write blanks to the end of its tokens.
"""

_LIMITS: Final = {
    "max_items_in_row": 1000,
    "initial_lexer_fuel": 100_000,
    "step_lexer_fuel": 50_000,
    "step_max_items": 20_000,
    "max_lexer_states": 50_000,
    "max_grammar_size": 20_000,
}
"""Work and memory of one schema, in the library's own units: README.md has what they come to."""

_OPENINGS: Final = ("", '{"')
"""Where most may come next: a schema whose first steps are beyond the limits is refused before anything runs."""


class Grammars:
    """The grammars of one model. `size` is the width of its logits.

    A schema that was refused is remembered too, and one that is being compiled is waited for: no schema costs twice.
    """

    def __init__(self, vocabulary: GrammarVocabulary, size: int) -> None:
        self._tokenizer = read_vocabulary(vocabulary, size)
        self._limits = LLParserLimits(precompute_large_lexemes=True, verbose_errors=False, **_LIMITS)
        self._known: dict[bytes, Future[JsonGrammar | str]] = {}
        self._thread = ThreadPoolExecutor(1, "grammars")

    async def compiled(self, schema: bytes) -> JsonGrammar:
        """The grammar of this schema (JSON). Compiles off the event loop. Called on one event loop.

        Raises UpstreamError: unsupported, with what is wrong with the schema; overloaded, when many wait to be compiled.
        """
        future = self._known.pop(schema, None) or self._submit(schema)
        self._known[schema] = future
        if len(self._known) > CACHED:
            del self._known[next(iter(self._known))]
        found = future.result() if future.done() else await asyncio.shield(asyncio.wrap_future(future))
        if isinstance(found, str):
            raise refused(found)
        return found

    def close(self) -> None:
        self._thread.shutdown(wait=False)

    def _submit(self, schema: bytes) -> "Future[JsonGrammar | str]":
        if sum(not future.done() for future in self._known.values()) >= MOST_WAITING:
            raise UpstreamError("overloaded", "too many schemas wait to be compiled", sent=False)
        return self._thread.submit(self._compile, schema)

    def _compile(self, schema: bytes) -> JsonGrammar | str:
        """The grammar, or what is wrong."""
        try:
            grammar = LLMatcher.grammar_from_json_schema(schema.decode(), overrides={"whitespace_pattern": SPACE})
        except ValueError as fault:
            return f"the schema cannot be followed: {fault}"
        matcher = LLMatcher(self._tokenizer, grammar, log_level=0, limits=self._limits)
        return self._fault(matcher) or JsonGrammar(matcher)

    def _fault(self, matcher: LLMatcher) -> str:
        if matcher.is_error():
            return fault_of(matcher)
        for opening in _OPENINGS:
            probe = matcher.deep_copy()
            probe.try_consume_tokens(self._tokenizer.tokenize_str(opening))
            probe.compute_bitmask()
            if probe.is_error():
                return fault_of(probe)
        return ""

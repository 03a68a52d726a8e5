"""Words that a sentence opens with, by what it then does: asks, orders, or tells how to go about an answer."""

import re

from classifiers.reading.lexicon import GROUPS

_QUESTION = "why how is are was were do does did can could should"
_ORDERS = (
    "find solve calculate compute determine draw sort tell suggest give make plan recommend state include add mention use "
    "keep leave show check review sketch order pick choose say spell continue help extend rank estimate fill replace remove "
    "insert count simplify improve edit put call send look"
)
_MANNER = (
    "answer reply respond think reason imagine pretend picture treat approach handle consider regard assume suppose phrase "
    "formulate frame see view bear remember know note beware ponder weigh"
)
_REPLY = (
    "answer reply response approach solution explanation matter question style tone level depth standard treatment audience "
    "reader readers reasoning argument arguments claim claims inference inferences assumption assumptions axiom axioms "
    "definition definitions lemma lemmas invariant invariants caveat caveats subtleties rigour rigor precision"
)
_FORM = (
    "proof proofs derivation derivations rigorous rigorously rigour formal formally style manner spirit fashion depth detail "
    "precision theorem lemma viewpoint perspective point notation formalism language terms verification analysis bounds "
    "would as expert experts thesis textbook chapter paper mind account"
)
_STANDS_FOR = "it them everything"
_HOW = "for like as at with in to from under"
_DETERMINES = "the a an your each every it this all any"
_REFERS = "it its this that these those they them their he she his her such same former latter"
_OBLIGES = "must should shall ought may can cannot has have"
_SKIPPED = "please kindly also and so now but then"
_LIGHTLY = "give suggest tell say make name list spell define convert fix correct"
_ORDERS_IN_S = "discuss express pass process"

QUESTION = GROUPS["what"] | frozenset(_QUESTION.split())
ORDERS = GROUPS["build"] | GROUPS["proof"] | GROUPS["light_task"] | GROUPS["why"] | frozenset(_ORDERS.split())
"""Verbs that ask for something."""

LIGHT = GROUPS["light_task"] | GROUPS["what"] | frozenset(_LIGHTLY.split())
"""Opens what a few words answer."""

MANNER = frozenset(_MANNER.split())
"""Verbs that tell how."""

REPLY = frozenset(_REPLY.split())
"""What is to come of it: who wants that done in some way asks for nothing more."""

WORD = re.compile(r"[^\W\d_]+")
"""Letters on end."""

MINE, YOURS = frozenset(("my", "our", "i", "we")), frozenset(("you", "your"))

REFERS = frozenset(_REFERS.split())
"""Words that mean what another sentence has named."""

FORM = REPLY | frozenset(_FORM.split())
"""What an answer can have or be."""

STANDS_FOR = frozenset(_STANDS_FOR.split())
"""The object of an order that has none of its own."""

HOW = frozenset(_HOW.split())
"""What follows a verb that orders no thing but a manner."""

DETERMINES = frozenset(_DETERMINES.split())
"""What follows a verb that opens a sentence, and no name."""

OBLIGES = frozenset(_OBLIGES.split())
"""What makes a sentence a requirement."""

SKIPPED = frozenset(_SKIPPED.split())
"""Stands before the word that counts."""

ORDERS_IN_S = frozenset(_ORDERS_IN_S.split())
"""Verbs, where most words that end like this are the many that a statement is about."""

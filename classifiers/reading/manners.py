"""Words of courtesy by what they do, the glue between the two who speak, and what a sentence of nothing else does."""

from collections.abc import Sequence
from typing import Literal

Kind = Literal["greets", "thanks", "pleads", "announces"]

_GREETS_WORDS = "hi hello hey hiya howdy greetings dear bye goodbye"
_CALLS_WORDS = (
    "assistant ai bot chatbot friend friends team everyone everybody folks sir madam mate there all anyone anybody"
)
_THANKS_WORDS = (
    "thanks thank thankful thankfully thx grateful gratitude appreciate appreciated appreciation appreciative "
    "cheers obliged indebted regards"
)
_HOPES_WORDS = "hope hoping wish wishing wishes"
_WELL_BEING_WORDS = "you your you're this all it"
_REGRETS_WORDS = "sorry apologies apologise apologize excuse pardon"
_TROUBLES_WORDS = "bother bothering disturb disturbing interrupt interrupting trouble troubling asking question me"
_PLEADS_WORDS = (
    "guidance input thoughts please pls kindly help helping helped assist assistance assisting favour favor hand advice"
)
_ANNOUNCES_WORDS = "question questions query answer answering answered wondering"
_BETWEEN_US_WORDS = "i you your me my we us our i'm i'd i've i'll you're you'd you'll we'd we're please here here's"
_GLUE_WORDS = (
    "a an the this that these it it's that's its something anything one thing things to of for with in on at and "
    "or but so as if be is are am was were been being have having has had do does did doing going will would "
    "could can might may should shall let let's very really truly so much many such just quick quickly small "
    "little short simple bit greatly deeply highly enormously kind kindest best warm warmest sincere sincerely "
    "million lot lots ton advance again once more too also now then helpful well fine good great nice lovely "
    "wonderful pleasant happy glad pleased delighted kindness patience support effort efforts time today week "
    "weekend moment minute second reply response request ask get getting give giving lend take taking need want "
    "like love looking forward see spare hear hearing from out up able possible soon any some possibly maybe "
    "perhaps not don't mind following below always how everything look know follows meet meeting "
    "find finds finding beforehand gladly huge big extremely incredibly immensely dearly deepest humbly stuck struggling sure "
    "use try trying taken care safe enjoy new here there who whoever"
)
_OPENS_WORDS = "please thanks thank cheers many kindly"
_MATERIAL_WORDS = (
    "translate translation rewrite rephrase paraphrase proofread punctuate correct fix spell spelling grammar "
    "sentiment tone classify reply respond summarise summarize convert capitalise capitalize sentence continue "
    "repeat"
)
_POINTS_WORDS = "this that it these following below above sentence sentences phrase text message"

DAYTIMES = frozenset(("morning", "afternoon", "evening", "day"))
GREETS = frozenset(_GREETS_WORDS.split())
"""One of these makes a sentence a greeting, where all its words are in `WORDS`; so it is with the others."""

CALLS = frozenset(_CALLS_WORDS.split())
"""Whom one greets."""

THANKS = frozenset(_THANKS_WORDS.split())
HOPES = frozenset(_HOPES_WORDS.split())
"""Courtesy where it is for the other one."""

WELL_BEING = frozenset(_WELL_BEING_WORDS.split())
REGRETS = frozenset(_REGRETS_WORDS.split())
"""Courtesy where it is about asking."""

TROUBLES = frozenset(_TROUBLES_WORDS.split())
PLEADS = frozenset(_PLEADS_WORDS.split())
ANNOUNCES = frozenset(_ANNOUNCES_WORDS.split())
"""Courtesy between the two who speak: "I have a question", and not "Which question follows"."""

BETWEEN_US = frozenset(_BETWEEN_US_WORDS.split())
_GLUE = frozenset(_GLUE_WORDS.split())
OPENS = frozenset(_OPENS_WORDS.split())
"""With a capital, or behind a comma, a sentence of courtesy begins with one of these though no stop tells so."""

WORDS = frozenset().union(
    DAYTIMES, GREETS, CALLS, THANKS, HOPES, WELL_BEING, REGRETS, TROUBLES, PLEADS, ANNOUNCES, BETWEEN_US, _GLUE
)
SMILES = frozenset((":)", ":-)", ";)", "=)", "<3", "🙂", "😊", "🙏", "👋", "❤️", "!"))

MATERIAL = frozenset(_MATERIAL_WORDS.split())
"""What is done to a text that may be a courtesy itself."""

POINTS = frozenset(_POINTS_WORDS.split())
"""And what it is called."""

_ARE, _WHO = frozenset(("are", "is", "do", "have")), frozenset(("you", "your", "everything", "things", "it", "all"))
_DAYS = DAYTIMES | {"weekend", "week", "time"}
_PHRASES = ("a look", "me know", "like to know", "love to know", "want to know")
MOST_WORDS = 32
"""In a sentence of courtesy."""


def kinds(words: Sequence[str], *, asks: bool) -> frozenset[Kind]:
    """What a sentence does of words that are all in `WORDS`: nothing, where it is no courtesy. `asks`: with a question mark.

    >>> sorted(kinds("hello i hope you are well".split(), asks=False)), kinds("it is not well".split(), asks=False)
    (['greets', 'thanks'], frozenset())
    """
    found = frozenset(words)
    ours = not BETWEEN_US.isdisjoint(found)
    if not words or len(words) > MOST_WORDS:
        return frozenset()
    if "how" in found:
        return frozenset(("greets",)) if _how_are_you(words) else frozenset()
    if asks and not (ours or found <= GREETS | CALLS):
        return frozenset()
    done: dict[Kind, bool] = {
        "greets": not GREETS.isdisjoint(found) or (words[0] == "good" and words[1:2] != [] and words[1] in DAYTIMES),
        "thanks": not THANKS.isdisjoint(found) or _wishes(words, found) or _regrets(found),
        "pleads": not PLEADS.isdisjoint(found) and (ours or len(words) == 1),
        "announces": not ANNOUNCES.isdisjoint(found) and ours,
    }
    if ours and any(phrase in " ".join(words) for phrase in _PHRASES):
        done["pleads"] = True
    return frozenset(kind for kind, does in done.items() if does)


def _how_are_you(words: Sequence[str]) -> bool:
    at = words.index("how")
    are, who = words[at + 1 : at + 2], words[at + 2 : at + 3]
    return at <= 3 and _ARE.issuperset(are) and bool(who) and _WHO.issuperset(who)


def _wishes(words: Sequence[str], found: frozenset[str]) -> bool:
    """ "I hope that you are well", "have a lovely day"."""
    if words[0] in ("have", "enjoy") and words[1:2] in (["a"], ["the"], ["your"]):
        return not _DAYS.isdisjoint(found)
    return not HOPES.isdisjoint(found) and not WELL_BEING.isdisjoint(found)


def _regrets(found: frozenset[str]) -> bool:
    return not REGRETS.isdisjoint(found) and (len(found) <= 2 or not TROUBLES.isdisjoint(found))

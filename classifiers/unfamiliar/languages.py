"""Which language a text is held together in, by the small words of ten that are written in Latin letters and are not English.

The letters of French or Spanish are too like those of English to tell a sentence by (`oddness.py`); its small words are not.
"""

import re
from collections.abc import Mapping

from classifiers.reading.lexicon import GROUPS
from classifiers.reading.words import PLAIN

_WORD = re.compile(r"[^\W\d_]{2,}")  # letters alone are variables
_FEWEST = 3
_LEAST_SHARE = 0.25  # of a text's words are such small ones, else they are a title or a quotation
_SEEN_CHARS = 1024
_FEWEST_ENGLISH = 2  # "What is 2+2?"
_SHORT = 2  # letters: Polish has "do", "on" and "to" as well

_GLUE = {
    "French": "le la les un une des du de et est que qui dans pas ce cet cette sur avec au aux je moi tu il elle nous vous "
    "ils elles mon ma mes ton ta tes sa ses notre votre leur leurs où quel quelle quels quelles comment pourquoi quand mais "
    "être sont ont avez peux puis fait faire très plus sans chez entre donne fais si ne se en qu",
    "Spanish": "el la los las un una unos unas de del es que en por para con sin sobre este esta esto ese esa mi mis tu tus "
    "su sus lo le les se yo nos cómo qué cuál cuáles cuándo dónde quién cuánto más muy pero si al desde hasta entre cuando "
    "donde como son está están hay ser hacer puedo dame",
    "Italian": "il lo la gli le un una uno di del della dello dei delle degli che in per con senza su sul sulla questo "
    "questa mi mio mia miei mie tuo sua suo si ci cosa come qual quale quali quando dove chi perché più molto ma se al alla ai "
    "alle da dal dalla nel nella sono ho hai fra tra non fare",
    "Portuguese": "os as um uma uns umas de do da dos das que em no na nos nas por para com sem sobre este esta isto esse "
    "essa meu minha meus minhas seu sua como qual quais quando onde quem mais muito mas ou se ao pelo pela são está ser fazer "
    "não me eu ele ela eles",
    "Romanian": "și să un de la în cu pe pentru din despre care ce cum când unde este sunt nu mai sau dar ca eu mi îmi te se "
    "lui al ale am poate pot",
    "Catalan": "el la els les un una uns unes de del dels és que en per amb sense sobre aquest aquesta meu meva com quin "
    "quina quins quan on qui més molt però si al als fer són hi ha no em es",
    "German": "der die das den dem des ein eine einen einem einer und ist sind ich du er sie es wir ihr mein meine meinen mir "
    "mich dich sich nicht mit von zu zum zur auf für aus bei nach wie wo wer wann warum welche welcher kann können muss wird "
    "werden hat haben oder aber wenn man im am ohne gib was",
    "Dutch": "de het een en is ik je jij hij zij wij mijn jouw niet met van te op voor uit bij naar hoe waar wie wanneer "
    "waarom welke wat kan kun moet wordt worden heeft hebben of maar als om dat dit die er tussen",
    "Swedish": "en ett och är jag du han hon vi min mitt mina din inte med av på för till från hur var vem när varför vilka "
    "vilken kan ska har eller men om att det den som de",
    "Danish": "en et og er jeg du han hun vi min mit mine din ikke med af på for til fra hvordan hvor hvem hvornår hvorfor "
    "hvilke kan skal har eller men om at det den der som de man god",
}
_GLUE_OF: Mapping[str, frozenset[str]] = {name: frozenset(words.split()) for name, words in _GLUE.items()}
_ANY = frozenset().union(*_GLUE_OF.values())
_ENGLISH = (
    GROUPS["function_word"] | GROUPS["what"] | {"how", "why", "not", "you", "my", "does", "do", "should", "or", "about"}
)
_SMALL_ENGLISH = _ENGLISH | PLAIN


_ENGLISH_BESIDE = {name: _ENGLISH - glue for name, glue in _GLUE_OF.items()}


def is_of(name: str, word: str) -> bool:
    """Whether a word is one of the small ones of a language.

    >>> is_of("German", "was"), is_of("French", "translate")
    (True, False)
    """
    return word in _GLUE_OF[name]


def language(asked: str) -> str:
    """The one of these languages that a text is in, or "": of another, of English, or too little of any.

    >>> language("Qui a peint la Joconde et où se trouve le tableau ?"), language("Who wrote Les Misérables?")
    ('French', '')
    """
    return _language(_words(asked))


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:_SEEN_CHARS].lower())


def _language(words: list[str]) -> str:
    distinct = set(words)
    if len(distinct & _ANY) < _FEWEST:
        return ""
    name = max(_GLUE_OF, key=lambda one: len(distinct & _GLUE_OF[one]))
    glue = _GLUE_OF[name]
    theirs, ours = sum(map(glue.__contains__, words)), sum(map(_ENGLISH_BESIDE[name].__contains__, words))
    told = len(distinct & glue) >= _FEWEST and theirs >= _LEAST_SHARE * len(words) and theirs > ours
    return name if told else ""


def held_together_in(text: str) -> str:
    """`language`, or "English" where that has the small words; "" of any other, or too little of one.

    >>> held_together_in("Who painted the Mona Lisa?"), held_together_in("def f(): pass")
    ('English', '')
    """
    words = _words(text)
    if name := _language(words):
        return name
    ours = [word for word in words if word in _SMALL_ENGLISH]
    distinct, is_enough = set(ours), len(ours) >= _LEAST_SHARE * len(words)
    return "English" if is_enough and len(distinct) >= _FEWEST_ENGLISH and max(map(len, distinct)) > _SHORT else ""

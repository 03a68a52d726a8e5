"""Does an answer decline? Only its beginning is looked at: later, the same words are usually part of an answer."""

import re

LOOKS_AT = 160
"""Characters."""

DECLINES = re.compile(
    r"""
    \b(i['’]?m|i\ am|we['’]?re)\ (really\ |very\ |so\ )?(sorry|afraid)\b.{0,60}\b(can['’]?t|cannot|unable|not\ able|won['’]?t)\b
  | \bi\ (can['’]?t|cannot|can\ not|won['’]?t)\ (help|assist|answer|provide|do\ that|fulfil|comply|access|browse|discuss)
  | \bi['’]?m\ (unable|not\ able)\ to\b | \bi\ am\ (unable|not\ able)\ to\b
  | \bas\ an?\ (ai|artificial)\b.{0,60}\b(can['’]?t|cannot|unable|not\ able|don['’]?t|do\ not)\b
  | \bi\ (don['’]?t|do\ not)\ (know|have\ (access|enough\ information|the\ ability))\b
  | \b(leider|es\ tut\ mir\ leid)\b.{0,60}\b(kann|darf)\ ich\b.{0,40}\bnicht\b
  | \bich\ kann\ (dir|ihnen|das|dabei)\b.{0,40}\bnicht\ helfen
  | \blo\ siento\b.{0,60}\bno\ puedo\b | \bno\ puedo\ (ayudar|responder|hacer)
  | \bje\ suis\ désolé.{0,60}\bne\ peux\ pas\b | \bje\ ne\ peux\ pas\ (vous\ |t['’])?(aider|répondre|faire)
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def declines(text: str) -> bool:
    """
    >>> declines("I'm sorry, but I can't help with that."), declines("You can say: I'm sorry I am late.")
    (True, False)
    """
    return DECLINES.search(text[:LOOKS_AT].replace("\n", " ")) is not None

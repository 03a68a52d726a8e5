"""Turns of about 20 and 200 tokens, of many kinds: a number in each makes it one that nobody has seen."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, cycle
from pathlib import Path

from classifiers.embedding.static import open_static

SPANS = {"20 tokens": (14, 28), "200 tokens": (150, 260)}
"""By size, how many word pieces a turn of a file may have."""

_SHORT = (
    "How far from home is car {} at noon if it left at 8 and drives 60 km an hour?",
    "Suggest three names for a small bakery that opens at number {} in our street.",
    "Translate 'the train number {} leaves from platform four' into French, please.",
    "Which of the planets is the largest one, and how many moons, {} or more, does it have?",
    "Prove that there are infinitely many primes p that leave remainder 3 modulo {}.",
    "Write a lock-free queue with {} producers in Rust and prove that it is linearizable.",
    "What is the capital of Norway, and did it have more than {} inhabitants in 1900?",
    "A shop sells {} pens at 2 euros each and 40 books at 9 euros; what is its revenue?",
    "Which amendment protects the right to a jury of {} in a criminal case, and since when?",
    "Make this more polite: send me report {} by tomorrow morning or the client leaves.",
    "Why does a gas of {} moles cool when it expands without doing any work outside?",
    "Derive the normal modes of a chain of {} equal masses with springs between them.",
)
_FACTS = (
    "A baker in a small town sells rye bread for 4 euros, wheat rolls for 60 cents and a plum cake for 18 euros. On day {} "
    "she baked 35 loaves, 240 rolls and 6 cakes; a third of the rolls went to a school, at 10 % off. Rain kept people "
    "away, so 9 loaves and 31 rolls were left at closing time, and she gave half of what was left to a shelter. Flour "
    "costs her 1.10 euros a kilo: a loaf takes 0.7 kg, ten rolls take 0.5 kg, a cake takes 0.4 kg. Her oven burns 22 "
    "euros of gas, and her helper gets 85 euros. The town asks 12 euros for her place on the square, the flour came late for "
    "the second time this month, and a customer has ordered 80 rolls for the morning after.",
    "Ticket {}: since the release of last week our scheduler sometimes starts the same job twice. Two workers poll a table "
    "of jobs; each selects the oldest one that is not taken, marks it with its own name and commits. The database is "
    "replicated, reads go to the nearest copy, and the copies lag behind by up to half a second when the nightly import "
    "runs. A lock file on a shared disk was tried and given up, for it stayed behind when a worker was killed. Jobs take "
    "between a second and an hour, a few of them must never run twice, and the team would like to keep the table. Clocks of "
    "the workers differ by some milliseconds, and a worker that hangs is found out after two minutes at the latest.",
    "Minutes of meeting {}: the parents' council met in the library. The roof of the gym will be repaired in autumn, until "
    "then sports lessons take place outside or in the hall of the church. The canteen will offer one dish without meat "
    "every day. Class 7b asks for a trip to the sea, for which 40 euros a head are missing; a flea market in June is to "
    "bring them in. Mrs Keller leaves the council after nine years and is thanked with flowers. The next meeting is after "
    "the holidays, and the headmaster will report on the new timetable and on what became of the broken heating. Volunteers "
    "for painting the corridor in July may put their names on the list at the door of the secretary's office.",
    "A patient aged {} comes with pain in the chest that began an hour ago at rest and goes to the left arm. She smokes, her "
    "father had an infarct at 51, and she takes a pill for blood pressure whose name she forgot. Pulse 96, pressure 150 to "
    "95, no fever, the lungs are clear. The first ECG shows no change of the ST segment, the troponin of the first sample "
    "is just above the limit, and the second sample is on its way. She was told once that aspirin gave her a rash, and she "
    "is afraid of injections. The nearest catheter laboratory is forty minutes away by ambulance. Her daughter says that "
    "she had much the same pain after a quarrel in spring, and that it went away by itself that time.",
)
_ASKED = (
    "How much was earned or lost, and what would five more have changed?",
    "Put the whole text into two friendly sentences for a newsletter.",
    "What should be done first, and why? Give the strongest reason against it too.",
    "Design a solution, argue that it is correct under every interleaving, and say what it costs.",
    "Which number in the text is the largest one?",
)

Texts = Mapping[str, Iterator[str]]


def own_texts() -> Texts:
    """Without end."""
    fresh = count(1000)
    long = [f"{facts} {asked}" for asked in _ASKED for facts in _FACTS]
    return {
        size: (text.format(next(fresh)) for text in cycle(texts))
        for size, texts in zip(SPANS, (_SHORT, long), strict=True)
    }


def texts_of(path: Path) -> Texts:
    """The prompts of a CSV that have one of the sizes, each once."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        prompts = list(dict.fromkeys(row["prompt"] for row in csv.DictReader(file)))
    return {size: iter(_sized(prompts, *span)) for size, span in SPANS.items()}


def _sized(prompts: Sequence[str], least: int, most: int) -> list[str]:
    pieces = open_static().pieces
    return [text for text in prompts if least <= len(pieces.numbers(text)) <= most]

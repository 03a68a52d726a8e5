"""Examples are drawn from moulds of ours, which published parts fill as they are."""

import random
from pathlib import Path

import msgspec
import pytest

from classifiers.reading.taught.apart import MOULDS, written
from classifiers.reading.taught.moulds import Family, Moulds
from classifiers.reading.taught.parts import Published, parts_of

PUBLISHED = Published(
    ["What is $x + y$ for {name}?"],
    ["Who wrote it?"],
    ["The {name} was late on that day."],
    ["def f(x):\n    return x + 1000"],
)


def moulds_in(folder: Path, *families: Family) -> Path:
    path = folder / "moulds.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, families)))
    return path


def test_every_mould_has_words_for_its_slots():
    drawn = random.Random(1)
    moulds = Moulds(MOULDS, drawn, {**parts_of(drawn, PUBLISHED), "appeal": ["Think."], "task": ["Add a test."]})

    for line in MOULDS.read_bytes().splitlines():
        for text in msgspec.json.decode(line, type=Family).texts:
            assert moulds.filled(text).strip() or not text.strip()


def test_no_sentence_stands_twice_among_the_moulds():
    families = [msgspec.json.decode(line, type=Family) for line in MOULDS.read_bytes().splitlines()]
    texts = [(one.kind, text) for one in families for text in one.texts if one.kind != "word"]

    assert len(texts) == len(set(texts))


def test_a_published_part_is_put_in_as_it_is_and_words_are_filled_in_turn(tmp_path: Path):
    path = moulds_in(tmp_path, Family("x", "x", ("{Told} {name}",)), Family("word", "name", ("old {beast}",)),
                     Family("word", "beast", ("cat",)))  # fmt: skip
    moulds = Moulds(path, random.Random(1), {"told": ["so says {beast}"]})

    assert moulds.distinct("x", 5) == ["So says {beast} old cat"]


def test_a_slot_without_words_is_an_error(tmp_path: Path):
    moulds = Moulds(moulds_in(tmp_path, Family("x", "x", ("{nothing}",))), random.Random(1), {})

    with pytest.raises(KeyError, match="nothing"):
        moulds.distinct("x", 1)


def test_one_seed_writes_the_same_each_time():
    one, other = (written(random.Random(3), PUBLISHED) for _ in range(2))

    assert one == other
    assert len(set(one.whole)) == len(one.whole)

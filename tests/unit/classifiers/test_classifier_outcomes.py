"""CSV files of own outcomes: what is read, and which line is named when it can't be."""

import gzip
from pathlib import Path

import pytest

from classifiers.outcomes.own import OutcomesRefused, first_and_last, read_outcomes, read_prompts

HEADER = "prompt_id,prompt,small_correct,large_correct\n"


@pytest.fixture
def written(tmp_path: Path):
    def write(text: str, encoding: str = "utf-8") -> Path:
        path = tmp_path / "own.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_every_model_column_is_a_model_in_the_order_of_the_file(written):
    read = read_outcomes(written("middle_correct,prompt,large_correct,prompt_id,note,small_correct\n0.5,hi,1,a,x,0\n"))

    assert read.models == ("middle", "large", "small")
    assert read.quality.tolist() == [[0.5, 1.0, 0.0]]
    assert (read.prompts.ids, read.prompts.texts) == (("a",), ("hi",))


def test_prompts_may_hold_lines_quotes_and_commas_and_be_long(written):
    long = "word " * 60_000

    read = read_outcomes(written(f'{HEADER}a,"one, ""two""\nthree",0,1\nb,{long},1,1\n'))

    assert read.prompts.texts == ('one, "two"\nthree', long)


def test_a_byte_order_mark_and_empty_lines_are_nothing(written):
    assert len(read_outcomes(written(f"\ufeff{HEADER}\na,hi,0,1\n\n"))) == 1


def test_space_around_the_names_of_columns_is_nothing(written):
    read = read_outcomes(written("prompt_id, prompt , small_correct,large_correct\t\na, hi,0,1\n"))

    assert read.models == ("small", "large")
    assert read.prompts.texts == (" hi",)


@pytest.mark.parametrize(("mark", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_other_marks_between_columns_are_told_with_what_to_do(written, mark: str, word: str):
    with pytest.raises(OutcomesRefused, match=rf"own\.csv:1 lacks .* separated by {word}, so save it with commas"):
        read_outcomes(written(f"{HEADER}a,hi,0,1\n".replace(",", mark)))


def test_a_header_alone_is_no_outcomes_and_no_fault(written):
    read = read_outcomes(written(HEADER))

    assert len(read) == 0
    assert read.quality.shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1 is empty"),
        ("prompt,small_correct,large_correct\n", ":1 lacks the column 'prompt_id'"),
        ("prompt_id,prompt,small_correct\n", r":1 needs a column <model>_correct .* it has small_correct"),
        ("prompt_id,prompt,prompt,a_correct,b_correct\n", ":1 has the column 'prompt' twice"),
        ("prompt_id,prompt,a_correct, a_correct\n", ":1 has the column 'a_correct' twice"),
        (f"{HEADER}a,hi,0,1\nb,hi,yes,1\n", ":3 small_correct is 'yes'; a number from 0 .* to 1"),
        (f"{HEADER}a,hi,0,1.5\n", ":2 large_correct is '1.5'"),
        (f"{HEADER}a,hi,nan,1\n", ":2 small_correct is 'nan'"),
        (f"{HEADER}a,hi,,1\n", ":2 small_correct is ''"),
        (f"{HEADER}a,hi,0\n", ":2 has 3 cells where the header has 4"),
        (f'{HEADER}a,"two\nlines",0,1\na,hi,0,1\n', ":4 prompt_id 'a' stands on line 2 too"),
        (f"{HEADER},hi,0,1\n", ":2 prompt_id is empty"),
        (f'{HEADER}a,"hi" there,0,1\n', ":2 is not CSV"),
    ],
)
def test_a_fault_is_named_with_its_line(written, text: str, message: str):
    with pytest.raises(OutcomesRefused, match=rf"own\.csv{message}"):
        read_outcomes(written(text))


def test_another_encoding_and_a_missing_file_are_refused(written, tmp_path: Path):
    long = "word " * 20_000  # read part by part, lines would be counted from a part's beginning
    with pytest.raises(OutcomesRefused, match=r"own\.csv:4 is not UTF-8 \(a byte is 0xef\); save it as UTF-8"):
        read_outcomes(written(f"{HEADER}a,{long},0,1\nb,hi,0,1\nc,naïve,0,1\n", encoding="latin-1"))
    with pytest.raises(OutcomesRefused, match="cannot be read"):
        read_prompts(tmp_path / "absent.csv")


def test_a_packed_file_is_told_from_one_in_another_encoding(tmp_path: Path):
    path = tmp_path / "own.csv.gz"
    path.write_bytes(gzip.compress(f"{HEADER}a,hi,0,1\n".encode()))

    with pytest.raises(OutcomesRefused, match=r"own\.csv\.gz is packed by gzip; unpack it first"):
        read_outcomes(path)


def test_prompts_need_no_outcomes(written):
    assert read_prompts(written("prompt_id,prompt\na,hi\n")).texts == ("hi",)


def test_a_gain_is_between_small_and_large_or_the_outer_two():
    assert first_and_last(("small", "middle", "large")) == (0, 2)
    assert first_and_last(("large", "small")) == (1, 0)
    assert first_and_last(("tiny", "huge")) == (0, 1)

"""Stop strings over pieces."""

from hypothesis import given
from hypothesis import strategies as st

from backends.engine.stops import StopScanner

texts = st.text("ab", max_size=30)
stops = st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=4).map(tuple)


def cut(text, stops):
    """The text before the stop that is complete first; of those that are complete together, the longest."""
    ends = [end for end in range(1, len(text) + 1) if any(text[:end].endswith(stop) for stop in stops)]
    if not ends:
        return text
    return text[: min(ends[0] - len(stop) for stop in stops if text[: ends[0]].endswith(stop))]


@given(texts, stops)
def test_character_by_character_the_text_ends_before_the_first_stop_that_is_complete(text, stops):
    scanner = StopScanner(stops)
    shown = ""
    for character in text:
        shown += scanner.push(character)
        if scanner.found is not None:
            break
    if scanner.found is None:
        shown += scanner.rest()

    assert shown == cut(text, stops)


@given(st.lists(texts, max_size=8), stops)
def test_whatever_the_pieces_no_stop_and_no_start_of_one_is_ever_shown(pieces, stops):
    scanner = StopScanner(stops)
    shown = ""
    for piece in pieces:
        shown += scanner.push(piece)
        assert not any(stop in shown for stop in stops)
        if scanner.found is not None:
            assert "".join(pieces).startswith(shown + scanner.found)
            return

    assert shown + scanner.rest() == "".join(pieces)


@given(st.lists(texts, max_size=8), st.text("xyz", min_size=1, max_size=3))
def test_what_cannot_become_a_stop_is_shown_at_once(pieces, stop):
    scanner = StopScanner((stop,))

    assert [scanner.push(piece) for piece in pieces] == pieces

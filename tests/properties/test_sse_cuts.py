"""Laws of the event-stream codec: cuts between reads mean nothing; what is encoded is read back."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.sse import BOM, Decoder, EventTooLarge, ServerEvent, encode

LINE_ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])
FIELDS = st.sampled_from(
    (
        *(b"data: {}", b"data:x", b"data:  y", b"data", b"data: \xe5\x8c\x97", b"data: a\xe2\x80\xa8b\xc2\x85c"),
        *(b": comment", b":", b"event: ping", b"id: 7", b"retry: 3000", b"nonsense", b"", b"", b""),
    )
)
STREAMS = st.lists(st.tuples(FIELDS, LINE_ENDS), max_size=20).map(lambda lines: b"".join(a + b for a, b in lines))


def decoded(*reads: bytes, max_bytes: int = 1 << 20) -> list[ServerEvent]:
    decoder = Decoder(max_bytes)
    return [event for read in reads for event in decoder.feed(read)]


def reference(stream: bytes) -> list[bytes]:
    """The grammar as the standard words it, over the whole stream at once."""
    text = stream.removeprefix(BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events, data = [], b""
    for line in text.split(b"\n")[:-1]:
        if not line:
            events += [data[:-1]] if data else []
            data = b""
        elif line == b"data":
            data += b"\n"
        elif line.startswith(b"data:"):
            data += line[5:].removeprefix(b" ") + b"\n"
    return events


@given(STREAMS, st.booleans(), st.data())
def test_a_stream_cut_anywhere_decodes_as_the_standard_says(stream: bytes, has_bom: bool, data: st.DataObject) -> None:
    stream = BOM + stream if has_bom else stream
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    bounds = [0, *cuts, len(stream)]

    events = decoded(*(stream[a:b] for a, b in pairwise(bounds)))

    assert [event.data for event in events] == reference(stream)


@given(STREAMS)
def test_a_stream_of_one_byte_reads_decodes_alike(stream: bytes) -> None:
    assert decoded(*(stream[at : at + 1] for at in range(len(stream)))) == decoded(stream)


@given(st.lists(st.tuples(st.text().map(str.encode), st.sampled_from([b"", b"ping"]))))
def test_what_is_encoded_is_read_back(events: list[tuple[bytes, bytes]]) -> None:
    stream = b"".join(encode(data, name) for data, name in events)

    expected = [ServerEvent(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), name) for data, name in events]
    assert decoded(stream) == expected


@pytest.mark.parametrize(
    "piece", [b"data: " + b"x" * 70, b"x" * 70, b"data: x\n" * 40, b"data: " + b"x" * 70 + b"\n\n"]
)
def test_an_event_without_end_is_refused_before_it_fills_the_memory(piece: bytes) -> None:
    with pytest.raises(EventTooLarge):
        decoded(*(piece[at : at + 1] for at in range(len(piece))), max_bytes=64)


def test_many_small_events_are_not_one_large_one() -> None:
    decoder = Decoder(max_bytes=64)

    events = [event for _ in range(100) for event in decoder.feed(b"data: 0123456789\n\n")]

    assert len(events) == 100

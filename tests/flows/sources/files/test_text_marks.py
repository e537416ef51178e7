"""A stream of text with marks for bytes that are not UTF-8."""

from __future__ import annotations

import io

from ranklake.flows.sources.files.text_marks import MarkedText, has_marks


def test_marked_text__is_read_in_pieces_of_any_size() -> None:
    data = "name,ä\n".encode() + b"caf\xe9\n"
    whole = MarkedText(io.BytesIO(data)).read()
    assert whole.startswith("name,ä\ncaf".encode())
    assert has_marks(whole.decode())
    pieces = MarkedText(io.BytesIO(data))
    assert pieces.read(0) == b""
    assert b"".join(iter(lambda: pieces.read(3), b"")) == whole


def test_marked_text__closes_its_stream() -> None:
    stream = io.BytesIO(b"x")
    with MarkedText(stream) as text:
        assert text.read(1) == b"x"
    assert text.closed
    assert stream.closed

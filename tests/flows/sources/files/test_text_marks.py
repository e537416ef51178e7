"""Text with marks for bytes that are not UTF-8."""

from __future__ import annotations

from ranklake.flows.sources.files.text_head import MARKING, has_marks


def test_marking__keeps_valid_text_and_marks_other_bytes() -> None:
    text = (b"name,\xc3\xa4\n" + b"caf\xe9\n").decode("utf-8", MARKING)
    assert text.startswith("name,ä\ncaf")
    assert [has_marks(line) for line in text.splitlines()] == [False, True]

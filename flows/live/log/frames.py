"""The bytes of a segment: a header, then frames with one record each.

All numbers are little-endian. Header, 24 bytes: ``RLKLOG1`` and a line feed, the sequence number of the first record
(uint64), CRC32C of these 16 bytes (uint32), zeros. Frame, padded with zeros to a multiple of 8 bytes:

======  ========  ==============================================================
offset  type      content
======  ========  ==============================================================
0       uint32    bytes from offset 8 to the end, without the padding
4       uint32    CRC32C of these bytes
8       uint64    sequence number
16      uint64    sequence number of the first record of the group, see below
24      float64   when the record was accepted, UTC in seconds since the epoch
32      uint8     position in ``KINDS``; then a zero
34      uint16    bytes of the id
36      bytes     the id, then JSON
======  ========  ==============================================================

A group is written at once, after all earlier groups are durable. So a valid frame of a later group proves that a bad
frame before it was damaged after it was acknowledged. Without one, the bad frame is the end of an unfinished write.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from types import ModuleType

import numpy as np

from ...common.extras import need
from .records import KINDS, Entry, Record

ALIGNMENT = 8
HEADER_BYTES = 24
_MAGIC = b"RLKLOG1\n"
_HEADER = struct.Struct("<8sQI4x")
_SUMS = struct.Struct("<II")
SUMS_BYTES = _SUMS.size
_LENGTH = struct.Struct("<I")
_FRAME = struct.Struct("<QQdBxH")
_LEAST = _FRAME.size
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class BadFrameError(ValueError):
    """The bytes at an offset are no valid frame.

    ``offset``: in the segment.
    """

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(offset, reason)
        self.offset, self.reason = offset, reason


def crc32c(data: bytes, before: int = 0) -> int:
    """CRC32C (Castagnoli) of bytes that follow others with the sum ``before``."""
    return int(_library().extend(before, data))


def encode_header(first: int) -> bytes:
    """The header of a segment whose first record has the sequence number ``first``."""
    return _HEADER.pack(_MAGIC, first, crc32c(_HEADER.pack(_MAGIC, first, 0)[:16]))


def decode_header(data: bytes) -> int:
    """The sequence number of the first record of a segment; BadFrameError for another header."""
    if len(data) < HEADER_BYTES or encode_header(_HEADER.unpack_from(data)[1]) != data[:HEADER_BYTES]:
        raise BadFrameError(0, "the header is not valid")
    return int(_HEADER.unpack_from(data)[1])


def frame_bytes(head: bytes) -> int:
    """Bytes of a frame behind its first ``SUMS_BYTES``, without the padding."""
    return int(_SUMS.unpack(head)[0]) if len(head) == SUMS_BYTES else 0


def encode_group(first: int, entries: Sequence[Entry], received: float) -> tuple[bytes, list[int]]:
    """The frames of a group whose first record has the sequence number ``first``, and their offsets in these bytes."""
    value, end = _library().value, 0
    parts: list[bytes] = []
    offsets: list[int] = []
    for sequence, (kind, name, body) in enumerate(entries, first):
        raw = name.encode()
        content = _FRAME.pack(sequence, first, received, _NUMBERS[kind], len(raw)) + raw + body
        padding = -len(content) % ALIGNMENT
        parts += (_SUMS.pack(len(content), value(content)), content, bytes(padding))
        offsets.append(end)
        end += _SUMS.size + len(content) + padding
    return b"".join(parts), offsets


def decode_frames(data: bytes, offset: int, sequence: int) -> Iterator[tuple[int, Record]]:
    """The records of a segment with the offsets of their frames, from one offset on.

    ``sequence``: the number of the record at ``offset``.
    Raises BadFrameError: a frame is cut, fails its sum, or has another sequence number.
    """
    value, size = _library().value, len(data)
    while offset < size:
        if size - offset < _SUMS.size + _LEAST:
            raise BadFrameError(offset, "the record is cut")
        length, total = _SUMS.unpack_from(data, offset)
        begin = offset + _SUMS.size
        end = begin + length
        if length < _LEAST or end > size:
            raise BadFrameError(offset, "the record is cut" if end > size else "the length of the record is not valid")
        if value(data[begin:end]) != total:
            raise BadFrameError(offset, "the record fails its sum")
        number, _, received, kind, width = _FRAME.unpack_from(data, begin)
        if number != sequence:
            raise BadFrameError(offset, f"the record has the sequence number {number}, not {sequence}")
        if kind >= len(KINDS):
            raise BadFrameError(offset, f"the record is of kind {kind}, which only a newer ranklake reads")
        body = begin + _LEAST + width
        yield offset, Record(number, KINDS[kind], data[begin + _LEAST : body].decode(), received, data[body:end])
        offset = end + -end % ALIGNMENT
        sequence += 1


def find_frame(data: bytes, offset: int, sequence: int, wanted: int) -> int:
    """The offset of the frame of the record ``wanted``, given that of an earlier one; the sums between are not read.

    Where a length between is not valid, the offset is that of some other bytes.
    """
    unpack, size = _LENGTH.unpack_from, len(data) - SUMS_BYTES
    for _ in range(wanted - sequence):
        if offset > size:
            break
        offset += SUMS_BYTES + unpack(data, offset)[0]
        offset += -offset % ALIGNMENT
    return offset


def later_group(data: bytes, offset: int, sequence: int) -> int | None:
    """The offset of a valid frame behind a bad one, of a group that began after ``sequence``, that of the bad one."""
    begin = offset + ALIGNMENT
    if len(data) < begin + 3 * ALIGNMENT:
        return None
    words = np.frombuffer(data, "<u8", (len(data) - begin) // ALIGNMENT, begin)
    numbers, groups = words[1:-1], words[2:]
    most = sequence + len(data) // (_SUMS.size + _LEAST) + 1
    likely = (groups > sequence) & (groups <= numbers) & (numbers <= most)
    for at in np.flatnonzero(likely).tolist():
        place = begin + ALIGNMENT * at
        try:
            next(decode_frames(data, place, int(numbers[at])))
        except BadFrameError:
            continue
        return place
    return None


def _library() -> ModuleType:
    return need("google_crc32c", "rated", "the log of live ratings")

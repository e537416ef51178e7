"""The body of a response, decoded piece by piece, with a limit on the decoded size."""

from __future__ import annotations

import zlib

ACCEPTED = "gzip"  # what a request offers; `identity` needs no offer
_GZIP = frozenset({"gzip", "x-gzip"})
_AUTO = 16 + zlib.MAX_WBITS  # the wrapper of gzip, not that of zlib


class CodingError(Exception):
    """A content coding that was not offered."""


class DecoderError(Exception):
    """Compressed data that cannot be read."""


class BodyTooLongError(Exception):
    """The body is longer than the limit."""


class Decoder:
    """Collects a body.

    ``codings``: value of Content-Encoding. One layer of gzip at most: each layer multiplies the size by up to a
    thousand, and a limit on the output of the last layer would not bound the layers below.
    ``max_bytes``: limit of the decoded body.
    Raises CodingError: several layers, or another coding.
    """

    def __init__(self, codings: str, max_bytes: int) -> None:
        layers = [coding for part in codings.lower().split(",") if (coding := part.strip()) not in ("", "identity")]
        if len(layers) > 1 or not _GZIP.issuperset(layers):
            raise CodingError(", ".join(layers))
        self._zlib = zlib.decompressobj(_AUTO) if layers else None
        self._max_bytes, self._body = max_bytes, bytearray()
        self._begun = False  # whether any compressed data were received

    @property
    def n_bytes(self) -> int:
        """Number of decoded bytes so far."""
        return len(self._body)

    def feed(self, data: bytes) -> None:
        """Decode the next piece.

        Raises BodyTooLongError: the body is longer than ``max_bytes``; no more than one byte beyond was decoded.
        Raises DecoderError: the piece cannot be decoded.
        """
        if self._zlib is None:
            self._add(data)
        while self._zlib is not None and data:
            self._begun = True
            if self._zlib.eof:  # gzip is any number of members, one after the other, and then any number of zeros
                data = data.lstrip(b"\0")
                if not data:
                    break
                self._zlib = zlib.decompressobj(_AUTO)
            try:
                self._add(self._zlib.decompress(data, self._max_bytes - len(self._body) + 1))
            except zlib.error as error:
                raise DecoderError(str(error)) from error
            data = self._zlib.unused_data or self._zlib.unconsumed_tail

    def body(self) -> bytes:
        """The whole body.

        Raises DecoderError: the compressed data end early.
        """
        if self._zlib is not None and self._begun and not self._zlib.eof:
            raise DecoderError("the compressed data end early")
        return bytes(self._body)

    def beginning(self, n_bytes: int) -> bytes:
        """At most ``n_bytes`` of what is decoded so far."""
        return bytes(self._body[:n_bytes])

    def _add(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > self._max_bytes:
            raise BodyTooLongError

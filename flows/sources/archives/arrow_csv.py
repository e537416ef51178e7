"""Arrow's reader of CSV over text of any encoding and compression, which has ended when it is closed.

Arrow reads ahead in a thread of its own. A process that ends while this thread is in a stream of Python aborts. A
reader that is freed under the lock of the interpreter waits for this thread, which waits for the lock.
"""

from __future__ import annotations

import codecs
import ctypes
import io
import queue
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

PIECE_BYTES = 2**20  # read at a time; a closed reader waits for one
_CLOSING_SECONDS = 60.0


class CsvBatches:
    """The batches of a CSV file; a context manager that ends Arrow's thread.

    ``file`` is a stream of the decompressed bytes. Errors of the stream, of the encoding and of Arrow are raised also
    while batches are read.
    """

    def __init__(
        self,
        file: pa.NativeFile,
        encoding: str,
        errors: str,
        read: pacsv.ReadOptions,
        parse: pacsv.ParseOptions,
        convert: pacsv.ConvertOptions | None = None,
    ) -> None:
        self._feeding, self._reader = _Feeding(file), list[Any]()
        self.close = weakref.finalize(self, _close, self._reader, self._feeding)  # at the latest when the process ends
        plain = isinstance(file, pa.OSFile) and codecs.lookup(encoding).name == "utf-8" and errors == "strict"
        stream = file if plain else self._feeding.stream_of(encoding, errors)
        try:
            self._reader.append(pacsv.open_csv(stream, read, parse, convert))
        except BaseException:
            del stream
            self.close()
            self._feeding.check()
            raise
        self.schema: pa.Schema = self._reader[0].schema

    def __enter__(self) -> CsvBatches:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                batch = self._reader[0].read_next_batch()
            except Exception as error:
                self._feeding.check()
                if isinstance(error, StopIteration):
                    return
                raise
            yield batch


class _Feeding:
    """The state of a stream of Python that Arrow's thread reads."""

    def __init__(self, file: pa.NativeFile) -> None:
        self.file, self.ended = file, False
        self.error: Exception | None = None
        self._feed: weakref.ref[_Feed] | None = None
        self._freed = queue.SimpleQueue[object]()

    def stream_of(self, encoding: str, errors: str) -> pa.NativeFile:
        """A stream for Arrow, which alone refers to the stream of Python in it."""
        feed = _Feed(encoding, errors, self)
        # Arrow's thread frees the stream. It keeps the lock of the interpreter from this call of C to its end: a
        # function of Python could lose the lock, and a process that ends while the thread wants it aborts.
        self._feed = weakref.ref(feed, self._freed.put)
        # The buffered stream copies: a buffer of Python would need the lock of the interpreter where it is freed.
        return pa.BufferedInputStream(pa.PythonFile(feed, mode="r"), PIECE_BYTES)

    def wait(self) -> None:
        """Wait until Arrow's thread has left the stream."""
        if self._feed is not None:
            with suppress(queue.Empty):
                self._freed.get(timeout=_CLOSING_SECONDS)

    def check(self) -> None:
        """Raise the error of the stream, if it had one: Arrow saw the end of the file."""
        if self.error is not None:
            raise self.error from None


class _Feed(io.RawIOBase):
    """The text of a file as UTF-8, until it ends or is ended."""

    def __init__(self, encoding: str, errors: str, state: _Feeding) -> None:
        super().__init__()
        is_utf8 = codecs.lookup(encoding).name == "utf-8"
        self._decoder = None if is_utf8 and errors == "strict" else codecs.getincrementaldecoder(encoding)(errors)
        self._state, self._rest, self._at_end = state, b"", False

    def readable(self) -> bool:
        return True

    def read(self, n: int = -1) -> bytes:
        """``n`` bytes; fewer at the end."""
        pieces, size = [self._rest], len(self._rest)
        try:
            while size < n and not (self._at_end or self._state.ended):
                data: bytes = self._state.file.read(PIECE_BYTES)
                self._at_end = not data
                pieces.append(data if self._decoder is None else self._decoder.decode(data, not data).encode())
                size += len(pieces[-1])
        except Exception as error:
            self._state.error, self._at_end, pieces = error.with_traceback(None), True, []
        data = b"".join(pieces)
        self._rest = data[n:]
        return data[:n]


class _CStream(ctypes.Structure):
    """A stream of Arrow's C interface."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("get_schema", "get_next", "get_last_error")),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    ]


def _close(reader: list[Any], feeding: _Feeding) -> None:
    """Free a reader without the lock of the interpreter, and wait until Arrow's thread has left the stream."""
    feeding.ended = True
    if reader:
        stream = _CStream()
        reader.pop()._export_to_c(ctypes.addressof(stream))
        stream.release(ctypes.addressof(stream))
    feeding.wait()

"""Delta tables of results as other programs write them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def write_delta(folder: Path, *rows: Any, partition_by: list[str] | None = None) -> Path:
    """A table with one commit for each ``dict`` of columns, of which each replaces the rows of the one before."""
    for columns in rows:
        deltalake.write_deltalake(str(folder), pa.table(columns), mode="overwrite", partition_by=partition_by)
    return folder


def delete_row(folder: Path, row: int) -> None:
    """Delete a row of the one file of a table by a deletion vector in its log, as Spark does."""
    log = folder / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    # A 64-bit Roaring bitmap of one container with one number; see the protocol of Delta.
    bitmap = struct.pack("<IQI", 1681511377, 1, 0) + struct.pack("<IIHHIH", 12346, 1, 0, 0, 16, row)
    features = ["deletionVectors"]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7} | dict.fromkeys(
                ("readerFeatures", "writerFeatures"), features
            )
        if "add" in action:
            action["add"]["deletionVector"] = {
                "storageType": "i", "pathOrInlineDv": _z85(bitmap), "sizeInBytes": len(bitmap), "cardinality": 1,
            }  # fmt: skip
    log.write_text("\n".join(map(json.dumps, actions)) + "\n", "utf-8")


def _z85(data: bytes) -> str:
    """Bytes in the text encoding Z85."""
    data += bytes(-len(data) % 4)
    text = ""
    for (word,) in struct.iter_unpack(">I", data):
        text += "".join(_DIGITS[word // 85**k % 85] for k in (4, 3, 2, 1, 0))
    return text

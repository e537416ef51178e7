"""Attributes of players, such as a country: one file a data set, which ratings do not depend on."""

from __future__ import annotations

import pyarrow as pa

from ...lake import layout, parquet
from ...lake.access.lake import Lake
from ...lake.errors import MissingError
from ...lake.schemas import ATTRIBUTES
from ...leases.lease import Lease
from ...leases.roots import read_root


def read_attributes(lake: Lake, dataset: str) -> pa.Table:
    """The attributes of a data set's players; see ``schemas.ATTRIBUTES``. Empty if there are none.

    Raises DamagedError, FormatError: the file cannot be read; names the remedy.
    """
    path = layout.attributes_file(dataset)
    try:
        return parquet.decode(lake.read_bytes(path), "attributes", path)
    except MissingError:
        return ATTRIBUTES.empty_table()


def write_attributes(lake: Lake, dataset: str, table: pa.Table, lease: Lease) -> None:
    """Replace all attributes of a data set's players, under the lease of the data set."""
    path = layout.attributes_file(dataset)
    _, version = read_root(lake, path)
    lease.check()
    lease.lake.replace_bytes(path, parquet.encode(table, "attributes"), version)

"""The smoothing of a run: a table beside its rounds, and the checkpoint of a smoothing that was interrupted.

Both are a Parquet file with a manifest, ``smoothed.json`` and ``checkpoint.json``. The data file is written first and
has a name that no other commit uses; replacing the manifest is the commit. The run's own files are never changed. The
writer holds the lease on the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal

import msgspec
import pyarrow as pa

from ..lake import layout, parquet
from ..lake.access.lake import Lake, digest_of
from ..lake.errors import LakeError, MissingError
from ..lake.json_files import decode
from ..lake.remedies import damaged
from ..lake.schemas import FORMAT_VERSION
from ..leases.lease import Lease

Kind = Literal["smoothed", "checkpoint"]
KINDS: tuple[Kind, ...] = ("smoothed", "checkpoint")


class SmoothingManifest(msgspec.Struct, frozen=True, tag_field="format", tag=FORMAT_VERSION):
    """A committed table. Its JSON has this order of keys.

    ``digest``: digest of the rounds and the hyperparameters of the table, hex.
    ``n_rounds``: rounds of the run, skipped ones included.
    ``params``: hyperparameters.
    ``sweeps``: sweeps done.
    ``n_rows``, ``file``, ``file_size``, ``file_digest``: rows of the Parquet file, its name, its size in bytes, and its
    BLAKE2b-128 in hex.
    """

    digest: str
    n_rounds: int
    params: dict[str, Any]
    sweeps: int
    n_rows: int
    file: str
    file_size: int
    file_digest: str


class StoredSmoothing:
    """The smoothing of a run in a lake.

    ``lease``: the lease on the run, to write.
    """

    def __init__(self, lake: Lake, run: str, lease: Lease | None = None) -> None:
        self.lake, self.run, self._lease = lake, run, lease
        self.folder = layout.smoothing_folder(run)

    def manifest(self, kind: Kind) -> SmoothingManifest | None:
        """The manifest of the smoothed table or of the checkpoint; None if there is none.

        Raises DamagedError, FormatError: it cannot be read.
        """
        path = self._manifest_path(kind)
        try:
            return decode(SmoothingManifest, self.lake.read_bytes(path), path)
        except MissingError:
            return None

    def read(self, kind: Kind, manifest: SmoothingManifest) -> pa.Table:
        """The table of a manifest, checked.

        Raises MissingError, DamagedError, FormatError: the file is missing, does not match its manifest, or is of
        another format.
        """
        path = f"{self.folder}/{manifest.file}"
        data = self.lake.read_bytes(path)
        if digest_of(data) != manifest.file_digest:
            raise damaged(path, "does not match its manifest")
        table = parquet.decode(data, kind, path)
        if table.num_rows != manifest.n_rows:
            raise damaged(path, f"has {table.num_rows} rows, its manifest records {manifest.n_rows}")
        return table

    def commit(
        self, kind: Kind, table: pa.Table, digest: str, n_rounds: int, params: Mapping[str, Any], sweeps: int
    ) -> None:
        """Replace the smoothed table or the checkpoint; a smoothed table also removes the checkpoint."""
        lease = self._writer()
        file = f"{kind}-{layout.numbered(lease.number)}-{layout.numbered(sweeps)}.parquet"
        written = lease.lake.write_table(f"{self.folder}/{file}", table, kind)
        manifest = SmoothingManifest(digest, n_rounds, dict(params), sweeps, table.num_rows, file, *written)
        data = json.dumps(msgspec.to_builtins(manifest), allow_nan=False).encode()
        lease.check()
        lease.lake.commit_bytes(self._manifest_path(kind), data)
        if kind == "smoothed":
            self.remove_checkpoint()
        self.clean()

    def remove_checkpoint(self) -> None:
        """Delete the checkpoint: the manifest first."""
        path = self._manifest_path("checkpoint")
        if self.lake.exists(path):
            self._writer().lake.delete(path)
        self.clean()

    def clean(self) -> None:
        """Delete data files without a manifest, from commits that were interrupted or replaced."""
        lease = self._writer()
        unused = self._unused()
        lease.check()
        for name in unused:
            lease.lake.delete(f"{self.folder}/{name}")

    def problems(self) -> Iterator[str]:
        """The faults, a line each with the file and its remedy."""
        for kind in KINDS:
            try:
                manifest = self.manifest(kind)
                if manifest is not None:
                    self.read(kind, manifest)
            except LakeError as error:
                yield str(error)

    @property
    def n_leftover(self) -> int:
        """Files of writers that were interrupted; the next smoothing removes them."""
        return len(self._unused())

    def _unused(self) -> set[str]:
        """Data files to which no readable manifest refers."""
        names = {name for name in self.lake.list(self.folder) if name.endswith(".parquet")}
        for kind in KINDS:
            with suppress(LakeError):
                names -= {manifest.file} if (manifest := self.manifest(kind)) else set()
        return names

    def _manifest_path(self, kind: Kind) -> str:
        return f"{self.folder}/{kind}.json"

    def _writer(self) -> Lease:
        if self._lease is None:
            raise ValueError("a smoothing is written under the lease on its run")
        return self._lease

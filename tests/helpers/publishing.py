"""A data set whose run is published, corrections of it, and the command in a process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from helpers.lakes import ingest, rate_run, start, synthetic
from helpers.tables import over_years

from ranklake.flows.publication.publish import PublishReport, publish
from ranklake.storage import Contest, Lake

CONTESTS = over_years(synthetic(40))


def go_on(lake: Lake, contests: Sequence[Contest]) -> PublishReport:
    """Ingest, rate, publish."""
    ingest(lake, contests)
    rate_run(lake)
    return publish(lake, "run")


@contextmanager
def publishing(lake: Lake, *, before: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """``ranklake publish`` in a process that ends with the block."""
    with start("publish", "--run", "run", "--lake", lake.url, before=before) as process:
        try:
            yield process
        finally:
            process.kill()

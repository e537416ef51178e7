"""Fewer, larger files: segments of a run merged, one in the place of several in one step each."""

from __future__ import annotations

from collections.abc import Iterator

from storage.checkpoints import Run
from storage.segments import Segment

__all__ = ["ROWS", "compact_run"]

ROWS = 200_000  # participations a file: a few megabytes, and a tenth of a second to rate again if its end is cut off


def compact_run(run: Run, rows: int = ROWS) -> tuple[int, int]:
    """Merge neighbouring segments until each has about ``rows`` rows; the run reads the same at every moment.

    What was replaced stays for those who are reading, until the next ``rate`` or ``compact``.

    Returns
    -------
    int, int
        Segments before and after.

    Raises
    ------
    ValueError
        ``rows`` is not positive.
    DamagedError
        A file is not what its manifest says; what was merged before it stays merged.
    """
    if rows < 1:
        raise ValueError(f"rows must be >= 1, got {rows}")
    chain = run.truncate(run.segments().stop_round)  # what an earlier merge replaced
    after = 0
    for group in _groups(chain.segments, rows):
        if len(group) > 1:
            run.merge(group)
        after += 1
    return len(chain.segments), after


def _groups(segments: tuple[Segment, ...], rows: int) -> Iterator[list[Segment]]:
    group: list[Segment] = []
    for segment in segments:
        if group and sum(member.n_rows for member in group) + segment.n_rows > rows:
            yield group
            group = []
        group.append(segment)
    if group:
        yield group

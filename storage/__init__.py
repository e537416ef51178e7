"""The lake: Arrow and Parquet on a disk or in an object store; independent of the rating systems."""

from .datasets.dataset import Dataset
from .datasets.ingest import Ingest
from .datasets.tables.contests import Contest
from .datasets.tables.events import Event, Events
from .datasets.tables.log import Entry, Log
from .datasets.tables.standings import StandingsPart
from .lake.access.lake import Lake
from .lake.errors import DamagedError, FormatError, LakeError, MissingError
from .lake.schemas import FORMAT_VERSION
from .runs.run import Run
from .runs.segments import Chain, RoundEntry, Segment

__all__ = [
    "FORMAT_VERSION",
    "Chain",
    "Contest",
    "DamagedError",
    "Dataset",
    "Entry",
    "Event",
    "Events",
    "FormatError",
    "Ingest",
    "Lake",
    "LakeError",
    "Log",
    "MissingError",
    "RoundEntry",
    "Run",
    "Segment",
    "StandingsPart",
]

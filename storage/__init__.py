"""The lake: Arrow and Parquet on a disk or an object store; no idea what a rating system is."""

from .contests import Contest
from .datasets import Dataset
from .ingest import Ingest
from .lake.errors import DamagedError, FormatError, LakeError, MissingError
from .lake.lake import Lake
from .lake.schemas import FORMAT_VERSION
from .log import Entry, Log
from .runs.run import Run
from .runs.segments import Chain, RoundEntry, Segment
from .standings import StandingsPart

__all__ = [
    "FORMAT_VERSION",
    "Chain",
    "Contest",
    "DamagedError",
    "Dataset",
    "Entry",
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

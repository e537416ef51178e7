"""The lake: Arrow and Parquet on a disk or an object store; no idea what a rating system is."""

from storage.checkpoints import Run
from storage.contests import Contest
from storage.datasets import Dataset
from storage.errors import DamagedError, FormatError, LakeError, MissingError
from storage.ingest import Ingest
from storage.lake import Lake
from storage.log import Entry, Log
from storage.schemas import FORMAT_VERSION
from storage.segments import Chain, RoundEntry, Segment
from storage.standings import StandingsPart

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

"""The HTTP API over published runs: read-only, one immutable state a version. Needs the extra ``serve``."""

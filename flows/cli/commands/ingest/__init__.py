"""The command `ingest`: a module for each kind of source. No logic."""

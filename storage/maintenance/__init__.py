"""Verification and compaction of stored files."""

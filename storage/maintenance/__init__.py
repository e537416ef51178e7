"""Verification and compaction of what is stored."""

"""Commits of rated rounds: batches, counters, segments, the schedule of snapshots."""

"""Runs in the lake: configuration, plan, rating pass, segments, snapshots."""

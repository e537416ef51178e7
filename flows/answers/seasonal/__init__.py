"""Answers about the seasons of a run."""

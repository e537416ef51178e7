"""Rates rounds on an engine and holds the beliefs. No lake."""

"""Rate rounds on an engine and hold the beliefs. No lake."""

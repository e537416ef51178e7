"""Arrow conversions, text, times, optional imports and progress. No state."""

"""Arrow conversions, settings, text, times, optional imports and progress. No state."""

"""What several packages use: Arrow conversions, checks of arguments, text, times, extras and progress. No state."""

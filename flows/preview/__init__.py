"""Preview of a contest: rating changes from standings, nothing written."""

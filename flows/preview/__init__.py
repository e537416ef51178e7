"""Preview of a contest: everybody's change from standings, nothing written."""

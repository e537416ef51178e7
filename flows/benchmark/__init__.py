"""All systems on all given histories in one report: accuracy, calibration, seconds, drift of the level."""

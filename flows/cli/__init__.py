"""The command `ranklake`."""

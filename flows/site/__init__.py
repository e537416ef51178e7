"""The static site of a run: its data in files, and their writer."""

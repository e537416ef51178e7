"""Dated events of a data set: seasons, and resets of beliefs between two rounds."""

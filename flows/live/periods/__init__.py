"""Periods of the log, and their way to the lake: contests or games of the data set, and rounds of its runs."""

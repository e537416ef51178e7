"""Rating matches as they happen. One process holds the beliefs of runs and writes their data set."""

"""Queries about a published run, from the files of its index in memory. No kernel, no HTTP."""

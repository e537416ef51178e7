"""Readers and parsers of sources: they return checked contests, send no requests and write no files."""

"""Parsers of the sites whose contests can be ingested."""

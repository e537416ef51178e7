"""Contests from the results of a query of a database."""

"""Measures of how well ratings predict results."""

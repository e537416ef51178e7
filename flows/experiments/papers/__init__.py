"""Experiments that repeat a paper's tables and figures."""

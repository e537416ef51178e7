"""Compilation, numerics, standings, beliefs, and what a rating system is."""

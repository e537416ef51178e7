"""Compilation, numerics, standings, beliefs, and the interface of rating systems."""

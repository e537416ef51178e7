"""Experiments on properties of rating systems: incentives, robustness, inflation."""

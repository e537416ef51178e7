"""Performances and messages: root finding, factors, truncated Gaussians, win probabilities."""

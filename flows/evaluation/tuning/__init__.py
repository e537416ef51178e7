"""Hyperparameters, found by trials."""

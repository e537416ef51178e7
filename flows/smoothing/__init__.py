"""Smoothings of runs in the lake: their hyperparameters, sweeps, checkpoints and results."""

"""Scores of the predictions that ratings make; hyperparameter search."""

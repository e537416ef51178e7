"""Search for hyperparameters."""

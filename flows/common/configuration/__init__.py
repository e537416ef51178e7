"""Rating systems by name with their hyperparameters: descriptions, settings from text, and presets. No state."""

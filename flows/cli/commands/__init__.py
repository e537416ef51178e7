"""The commands, one module a group. No logic."""

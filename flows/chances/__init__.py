"""Draws and advantages that runs learn from their games, refitted as games are added; no rating by itself."""

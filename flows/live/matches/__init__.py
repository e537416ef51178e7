"""Matches in memory: what a client sends, the rounds of a group, the beliefs that it changes, and the answers."""

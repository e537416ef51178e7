"""Answers about the problems of a published run: their difficulties, and the chances of players."""

"""Answers to questions about rated runs, as plain data: each question has one function."""

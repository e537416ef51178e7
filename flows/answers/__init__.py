"""Answers to questions about rated runs, as plain data: one function for each question. No HTTP."""

"""Strengths of players from comparisons without an order in time: the Bradley-Terry model."""

"""Matchmaking: how even a proposed match is, and two teams of given players that are as even as possible."""

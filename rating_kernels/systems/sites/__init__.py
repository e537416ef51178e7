"""The rules of live sites: their official changes from the standings, one page each."""

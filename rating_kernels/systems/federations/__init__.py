"""The rules of federations: their official ratings from the games of a period, one page each."""

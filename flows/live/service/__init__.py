"""The service of `ranklake rated`: one thread accepts matches in groups, all others read. Needs the extra ``rated``."""

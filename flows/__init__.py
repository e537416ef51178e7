"""Contest data in, ratings out: sources, rating runs, published tables, evaluation and the command line."""

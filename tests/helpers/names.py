"""Handles that a page, an address or a table may take for something else."""

STRANGE = ["=1+1", "<script>", "a/b c?d#e", "Zoë", "two\nlines\n", "a/graph.svg", "x" * 10_000]

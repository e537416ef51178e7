"""Contest files in folders and archives, read within limits."""

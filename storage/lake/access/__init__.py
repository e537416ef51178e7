"""Access to the files of a lake, on a disk or in an object store: atomic writes, conditional commits, free space."""

"""Files of a lake on a disk or in an object store: names, schemas, errors, atomic writes."""

"""Names, tables, JSON files and errors of a lake: its layout, schemas, formats and remedies."""

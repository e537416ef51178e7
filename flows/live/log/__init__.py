"""The durable log of live ratings: records in the order of their acceptance, in a folder or in PostgreSQL."""

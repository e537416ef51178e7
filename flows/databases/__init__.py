"""Connections to databases: PostgreSQL and SQLite by ADBC drivers, MariaDB and MySQL by PyMySQL."""

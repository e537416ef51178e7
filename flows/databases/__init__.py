"""Connections to databases: PostgreSQL by its ADBC driver, MariaDB and MySQL by PyMySQL, SQLite by Python."""

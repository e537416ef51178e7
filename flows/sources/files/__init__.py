"""Readers of files: reference format, CSV, JSON, Parquet, archives."""

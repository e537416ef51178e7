"""Ingest, rate and publish as one pipeline, and the Prefect flows around it."""

"""The pipeline of ingesting, rating and publishing, and its Prefect flows."""

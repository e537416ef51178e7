"""The messages of HTTP: parameters, errors, bodies with their formats and compression, validators, files."""

"""Requests and answers: parameters, errors, bodies with their formats and compression, validators, files."""

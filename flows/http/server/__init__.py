"""What servers of HTTP have in common: bounded connections, parameters, errors, bodies, streams, counts of requests."""

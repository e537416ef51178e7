"""What the server keeps between requests: the opened runs, answers, counts, connections that wait for events."""

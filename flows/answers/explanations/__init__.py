"""One change of a rating explained: by a contest, or by a rated period."""

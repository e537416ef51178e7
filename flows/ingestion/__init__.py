"""From a source into a data set: HTTP client, response archive, update."""

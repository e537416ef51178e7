"""The pages of a run: templates and graphs, the data that they read, and the writer of the static site."""

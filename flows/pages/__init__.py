"""The pages of runs: templates and what they show, links, graphs and colours; for the static site and the server."""

"""What the pages of problems show: lists, one problem with its graph, and those for a player."""

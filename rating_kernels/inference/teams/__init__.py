"""Teams: their laws before a round, what a performance says about each member, and the steps of a round of teams."""

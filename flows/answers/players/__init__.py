"""What the rounds of players say: of one alone, over arrays. No tables, no kernel."""

"""Systems without an order in time: all games are explained at once."""

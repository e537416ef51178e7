"""How well ratings predicted results."""

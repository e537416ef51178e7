"""All ratings of a history as one object: rate, update, predict, evaluate, compare, plot, save."""

"""DataFrame in, DataFrame out: rate a history, predict a contest."""

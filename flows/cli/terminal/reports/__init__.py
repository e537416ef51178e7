"""Tables of reports for a terminal, of one kind of thing each."""

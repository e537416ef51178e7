"""Options and output of the commands: tables, messages, progress."""

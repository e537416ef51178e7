"""What a person sees: options, tables, messages, progress."""

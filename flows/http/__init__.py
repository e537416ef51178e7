"""A client of the web that asks politely and reads no more than it must: deadlines, limits, redaction."""

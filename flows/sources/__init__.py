"""What a source sends, as checked contests. Nothing here sends a request or writes a file."""

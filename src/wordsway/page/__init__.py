"""Pages that people move things on: the server, and a playground in one file."""

"""Interactive pages: the server, and a playground in one file."""

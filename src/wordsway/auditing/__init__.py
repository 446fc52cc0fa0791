"""Does a model react to the word that matters? Minimal edits of texts, and how far they move it."""

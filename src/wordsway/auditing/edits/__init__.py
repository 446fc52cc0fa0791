"""Minimal edits of English sentences whose effect on the meaning is known."""

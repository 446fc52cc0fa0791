"""Thin commands, no maths."""

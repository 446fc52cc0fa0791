"""What the project is checked and drawn with; not part of the package."""

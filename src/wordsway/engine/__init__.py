"""Jobs, their store, and the workers that run them; independent of maps and models."""

"""Jobs, their store, and the workers that run them; it knows no map and no model."""

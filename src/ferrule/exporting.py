"""A surface, or a whole catalog, in the words of a provider or a framework."""

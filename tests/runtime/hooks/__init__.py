"""How hooks are reached."""

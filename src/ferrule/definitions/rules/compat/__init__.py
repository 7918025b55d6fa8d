"""Rules about two states of a workspace: what was published, and what would be."""

"""Tools that live on OXP servers."""

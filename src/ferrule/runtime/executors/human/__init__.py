"""Tools that a person carries out: a task in the inbox, and word of it by the tool's transport."""

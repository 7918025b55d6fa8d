"""Files that commands write for the user, as they stand; `{today}` becomes the day they are written."""

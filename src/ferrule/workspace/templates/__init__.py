"""Files that commands write for the user, as they stand. `{today}` becomes the day, `{namespace}` the name of the folder."""

"""Files that commands copy for the user. `{today}` becomes the date, `{namespace}` the name of the folder.

The package holds data: it imports nothing and does not know the command that copies it.
"""

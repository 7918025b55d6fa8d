"""A shelf: one file per format that tools come in and go out by."""

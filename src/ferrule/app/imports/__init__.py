"""Tools of elsewhere taken into a workspace, and taken again when they changed there."""

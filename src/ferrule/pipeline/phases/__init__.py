"""The thirteen phases, one file each. File and function share one name; `pipeline/run.py` has the order."""

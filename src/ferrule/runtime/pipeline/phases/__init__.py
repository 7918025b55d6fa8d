"""The thirteen phases, one file each. File and function share one name; `runtime/pipeline/run.py` has the order."""

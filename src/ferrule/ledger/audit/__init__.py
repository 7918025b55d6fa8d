"""Engine: proves that a ledger is what was written. Pure over rows and tables; where they are kept is a source's business."""

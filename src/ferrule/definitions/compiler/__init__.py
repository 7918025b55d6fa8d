"""Engine: definition files in, diagnostics and a catalog out. Dialects and rules are handed to it; it looks nothing up."""

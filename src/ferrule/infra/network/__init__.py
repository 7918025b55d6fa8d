"""Which addresses may be reached, and how: every name is resolved here, checked, and connected to as it was checked."""

"""Engine: catalog and caller in, surface out: which tools are shown, which are held back and why, and how the rest is found."""

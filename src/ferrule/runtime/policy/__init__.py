"""The policy engine: rules of eight sources in, one ruling per call out. Reads no clock and asks no network."""

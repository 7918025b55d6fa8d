"""TypeScript stubs, held to `tsc`, `prettier` and `node`."""

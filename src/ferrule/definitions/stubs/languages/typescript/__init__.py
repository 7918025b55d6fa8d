"""TypeScript: types that say the shape, support files that check by the schema."""

"""Tools of a surface as the frameworks' own objects. Each module needs its framework and nothing else of it."""

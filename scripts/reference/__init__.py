"""One module per kind of generated page. Each gives text and writes nothing."""

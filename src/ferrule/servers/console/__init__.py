"""The console: pages for people, over the same operations as the HTTP API."""

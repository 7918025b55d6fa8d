"""Stubs in Go, held to Go itself."""

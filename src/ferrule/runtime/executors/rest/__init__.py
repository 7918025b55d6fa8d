"""Calls over HTTP: AML's `rest-api` transport. What a definition says is compiled once per tool; a call fills in its values."""

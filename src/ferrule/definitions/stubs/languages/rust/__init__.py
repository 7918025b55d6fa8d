"""Rust stubs: serde types, a schema checker, plain functions for handlers, and a client over the standard library's sockets."""

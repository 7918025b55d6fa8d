"""Benchmarks: the same work done by Ferrule and by others, side by side. `make bench` runs them."""

"""Schemas made to fit what a provider takes, and what a model answers turned back into what the tool takes."""

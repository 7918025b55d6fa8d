"""Validation of schemas and values with jsonschema-rs: soundness, containment, samples, short error messages.

No other package calls jsonschema-rs. It imports the rest of `schema` and `model`. It does not know where a schema came
from.
"""

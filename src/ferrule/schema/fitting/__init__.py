"""Rewrites a tool's schema for a provider that takes a subset of JSON Schema, and decodes the arguments a model sends
back.

It imports the rest of `schema` and `model`. It does not know the wire format of a provider; `definitions/formats` does.
"""

from ferrule.schema.fitting.decoding import decode, encode
from ferrule.schema.fitting.fitting import fit
from ferrule.schema.fitting.profile import Profile
from ferrule.schema.fitting.profiles import PROFILES
from ferrule.schema.fitting.steps import CannotFit, FittedSchema, FittingChange, Step

__all__ = ["PROFILES", "CannotFit", "FittedSchema", "FittingChange", "Profile", "Step", "decode", "encode", "fit"]

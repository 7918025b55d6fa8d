"""Schemas made to fit what a provider takes, and what a model answers turned back into what the tool takes."""

from ferrule.schema.fitting.change import Change, Fitted, Unfit
from ferrule.schema.fitting.decoding import decode
from ferrule.schema.fitting.encoding import encode
from ferrule.schema.fitting.fitting import fit
from ferrule.schema.fitting.profile import Profile
from ferrule.schema.fitting.profiles import PROFILES
from ferrule.schema.fitting.steps import Step

__all__ = ["PROFILES", "Change", "Fitted", "Profile", "Step", "Unfit", "decode", "encode", "fit"]

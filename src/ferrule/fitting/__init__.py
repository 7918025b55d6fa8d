"""Schemas made to fit what a provider takes, and what a model answers turned back into what the tool takes."""

from ferrule.fitting.change import Change, Fitted, Unfit
from ferrule.fitting.decoding import decode
from ferrule.fitting.encoding import encode
from ferrule.fitting.fitting import fit
from ferrule.fitting.profile import Profile
from ferrule.fitting.profiles import PROFILES
from ferrule.fitting.steps import Step

__all__ = ["PROFILES", "Change", "Fitted", "Profile", "Step", "Unfit", "decode", "encode", "fit"]

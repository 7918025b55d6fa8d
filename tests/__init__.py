"""Tests mirror `src/ferrule`: a module's test stands at the mirrored path. `ROOT` is the folder of the project."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent

"""Stands in for the command line while there is none: `python -m bench.without_cli check FOLDER`."""

import json
import sys

import msgspec

from ferrule.workspace import Workspace

if "--help" not in sys.argv:
    report = Workspace.open(sys.argv[2]).check([sys.argv[2]])
    if "json" in sys.argv:
        print(json.dumps({"summary": msgspec.to_builtins(report.summary)}))
    else:
        print(report.summary)

"""Our side of the group `convert`: one piece of work in a process of its own, its processor time printed as JSON.

python -m bench.convert_ours import FILE
python -m bench.convert_ours convert FOLDER TARGET [--strict] [--placed]
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from pathlib import Path

from ferrule.app.imports.openapi import OperationChoice, import_document
from ferrule.contracts.format import WriteOptions
from ferrule.workspace.convert.convert import convert
from ferrule.workspace.convert.sources import load_tools


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=["import", "convert"])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", nargs="?", default="openai")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--placed", action="store_true", help="find the line of every loss, too")
    options = parser.parse_args()
    if options.work == "import":
        found = _import(options.source)
    else:
        found = _convert(options.source, options.target, options.strict, options.placed)
    print(json.dumps(found))


def _import(file: Path) -> dict[str, float]:
    """From the bytes of the document to the texts of tool files, each request planned once as a call would."""
    data = file.read_bytes()
    gc.collect()
    began, cpu = time.perf_counter(), time.process_time()
    made = import_document(data, str(file), OperationChoice(), "shop")
    return {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu, "tools": len(made.files)}


def _convert(folder: Path, target: str, is_strict: bool, is_placed: bool) -> dict[str, float]:
    """From tools in memory to the bytes of a provider's list, losses told, and where they were said."""
    tools = [tool if is_placed else tool._replace(lines=None) for tool in load_tools([folder]).tools]
    gc.collect()
    began, cpu = time.perf_counter(), time.process_time()
    made = convert(tools, target, WriteOptions(is_strict=is_strict))
    taken = {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    return {**taken, "tools": len(tools) - len(made.left_out), "bytes": sum(map(len, made.files.values()))}


if __name__ == "__main__":
    main()

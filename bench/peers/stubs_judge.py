"""What generated Python types do with values: python stubs_judge.py KIND FOLDER CASES.json

KIND: `pydantic`, `msgspec`, `quicktype` or `ferrule`. CASES.json: `{name: {"accepts": […], "refuses": […]}}`. Prints, for
each case, what went wrong: that nothing was generated, that it cannot be loaded, or the numbers of values that were refused,
came out changed, or were let through.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from pydantic import TypeAdapter

warnings.simplefilter("ignore")


def loaded(kind: str, file: Path) -> Any:
    if kind == "ferrule":
        sys.path.insert(0, str(file.parent.parent.parent))
        return importlib.import_module(f"tools._generated.{file.stem}")
    spec = importlib.util.spec_from_file_location(f"judged_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def round_trip(kind: str, module: Any) -> Callable[[Any], Any]:
    """Decode a value and encode it again, as the generator's users would."""
    if kind == "pydantic":
        types: Any = TypeAdapter(module.Root)
        return lambda value: json.loads(
            types.dump_json(types.validate_json(json.dumps(value)), by_alias=True, exclude_unset=True)
        )
    if kind == "msgspec":
        return lambda value: json.loads(msgspec.json.encode(msgspec.json.decode(json.dumps(value), type=module.Root)))
    if kind == "ferrule":
        from ferrule.runtime.functions.records import make_type_reader, to_plain  # noqa: PLC0415  # only ours has it

        stem = module.__name__.rpartition(".")[2]
        read = make_type_reader(getattr(module, "".join(part.capitalize() for part in stem.split("_")) + "Input"))
        return lambda value: json.loads(json.dumps(to_plain(read(value))))
    return lambda value: json.loads(
        json.dumps(module.root_to_dict(module.root_from_dict(json.loads(json.dumps(value)))))
    )


def key(value: Any) -> Any:
    """Equal for equal JSON: 1 is 1.0 and not true."""
    if isinstance(value, bool) or value is None:
        return ("word", value)
    if isinstance(value, dict):
        return ("object", tuple(sorted((name, key(member)) for name, member in value.items())))
    if isinstance(value, list):
        return ("list", tuple(map(key, value)))
    return ("value", value)


def judged(kind: str, file: Path, case: dict[str, list[Any]]) -> dict[str, Any]:
    if not file.exists():
        return {"failed": "nothing is generated"}
    try:
        trip = round_trip(kind, loaded(kind, file))
    except Exception as mishap:
        return {"failed": f"it cannot be loaded: {type(mishap).__name__}"}
    found = {"refused": 0, "changed": 0, "let_through": 0}
    for value in case["accepts"]:
        try:
            found["changed"] += key(trip(value)) != key(value)
        except Exception:
            found["refused"] += 1
    for value in case["refuses"]:
        try:
            trip(value)
            found["let_through"] += 1
        except Exception:
            continue
    return found


def main() -> None:
    kind, folder, cases = sys.argv[1:4]
    told = json.loads(Path(cases).read_text())
    print(json.dumps({name: judged(kind, Path(folder, f"{name}.py"), case) for name, case in told.items()}))


if __name__ == "__main__":
    main()

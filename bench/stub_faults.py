"""What generators of types make of schemas that are hard to turn into types: the catalog that our own stubs are tested with.

python -m bench.stub_faults            the table
python -m bench.stub_faults --write    keep it in bench/stub_faults.json, from which docs/reference/stubs-compared.md is made

Each contender writes types for each schema. They are loaded, values that the schema accepts are decoded and encoded again, and
values that it refuses are decoded. Whether the schema accepts a value is what the validator of calls says.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.definitions.stubs.languages.nasty import CASES

from bench.check import WORK
from bench.stubs import HERE, MODELS, NODE, quicktype_installed
from bench.stubs_ours import tool
from ferrule.contracts.language import Project
from ferrule.definitions.stubs.identifiers import ACRONYMS
from ferrule.definitions.stubs.languages.builtin import LANGUAGES
from ferrule.definitions.stubs.plan import StubChoice, plan_stubs

KEPT = HERE / "stub_faults.json"
PEERS = HERE / "peers" / ".venv" / "bin" / "python"
FOLDER = WORK / "stub_faults"
FLAVOURS = ("msgspec", "pydantic")
Verdicts = dict[str, dict[str, Any]]


def compared() -> dict[str, Verdicts]:
    """What each contender gets wrong, by schema."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    _file("schemas").write_text(json.dumps({case.name: case.schema for case in CASES}))
    _file("cases").write_text(
        json.dumps({case.name: {"accepts": case.accepts, "refuses": case.refuses} for case in CASES})
    )
    found = {f"ferrule gen python, {flavour}": _ours(flavour) for flavour in FLAVOURS}
    for flavour, model in MODELS.items():
        found[f"datamodel-code-generator, {flavour}"] = _dmcg(flavour, model)
    if quicktype_installed():
        found["quicktype, Python"] = _quicktype("python", lambda out: _judged(str(PEERS), "quicktype", out))
        found["quicktype, JavaScript"] = _quicktype("javascript", _judged_in_node)
    shutil.rmtree(FOLDER)
    return found


def _file(name: str) -> Path:
    return FOLDER / f"{name}.json"


def _ours(flavour: str) -> Verdicts:
    language = LANGUAGES.get("python")
    project = Project(name="bench", version="1.0.0", acronyms=ACRONYMS)
    tools = [tool(case.name, case.schema) for case in CASES]
    out = FOLDER / f"ferrule-{flavour}"
    for each in language.write(plan_stubs(tools, project, language, StubChoice(flavour=flavour))).files:
        file = out / each.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(each.text)
    return _judged(sys.executable, "ferrule", out / "tools" / "_generated")


def _dmcg(flavour: str, model: str) -> Verdicts:
    out = FOLDER / f"dmcg-{flavour}"
    out.mkdir()
    _said(str(PEERS), str(HERE / "peers" / "stubs_dmcg.py"), "write", str(_file("schemas")), model, str(out))
    return _judged(str(PEERS), flavour, out)


def _quicktype(language: str, judge: Callable[[Path], Verdicts]) -> Verdicts:
    out = FOLDER / f"quicktype-{language}"
    out.mkdir()
    _said("node", str(NODE / "stubs_quicktype.mjs"), "write", str(_file("schemas")), language, str(out))
    return judge(out)


def _judged(python: str, kind: str, out: Path) -> Verdicts:
    found: Verdicts = _said(python, str(HERE / "peers" / "stubs_judge.py"), kind, str(out), str(_file("cases")))
    return found


def _judged_in_node(out: Path) -> Verdicts:
    found: Verdicts = _said("node", str(HERE / "peers" / "stubs_judge.mjs"), str(out), str(_file("cases")))
    return found


def _said(*words: str) -> Any:
    """The JSON that a program prints; nothing when it prints nothing."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        sys.exit(f"{words[1]} failed:\n{done.stderr}")
    return json.loads(done.stdout) if done.stdout.strip() else {}


def main() -> None:
    """The command line."""
    found = compared()
    for name, verdicts in found.items():
        wrong = [case for case, verdict in verdicts.items() if any(verdict.values())]
        print(f"{name}: {len(wrong)} of {len(verdicts)} schemas wrong: {', '.join(wrong) or 'none'}")
    if "--write" in sys.argv[1:]:
        KEPT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

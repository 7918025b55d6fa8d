"""`make new KIND=rule NAME=undescribed-parameter STANDARD=aml CODE=AML-35`: writes the skeleton of a part and says what is left.

KIND is rule, dialect, reporter, executor, sink or notifier. Never overwrites a file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEMPLATES = Path(__file__).parent / "templates"
STANDARDS = ("aml", "adl", "oxp", "agent_tool")
_SUITES = {
    "executor": "add a Case to tests/contracts/test_executor.py: timeout, cancel, resume and error classes are tested there",
    "sink": "add a Bench to tests/contracts/test_sink.py: order, exactly once and whole rows are tested there",
    "notifier": "test it in tests/runtime/notifiers: a refusal that is final, one that is not, and no secret in a message",
}


def plan(kind: str, name: str, standard: str, code: str) -> tuple[dict[str, str], list[str]]:
    """The files a part needs (path and template) and the steps left to a person."""
    module = name.replace("-", "_")
    match kind:
        case "rule":
            files = {
                f"src/ferrule/definitions/rules/{standard}/{module}.py": "rule.py.txt",
                f"tests/definitions/rules/cases/{standard}/{module}.md": "rule_cases.md.txt",
            }
            steps = [
                f"add {_class_name(name)}() to the rules of its kind of definition in src/ferrule/definitions/rules/{standard}",
                f"add its page to src/ferrule/definitions/rules/{standard}/pages.py",
                f'say {code} = "rule" in tests/spec/requirements.toml',
            ]
        case "dialect":
            files = {f"src/ferrule/definitions/dialects/{module}.py": "dialect.py.txt"}
            steps = [
                f'add "{module}": "ferrule.definitions.dialects.{module}:DIALECT" to src/ferrule/definitions/dialects/builtin.py'
            ]
        case "reporter":
            files = {f"src/ferrule/definitions/reporters/{module}.py": "reporter.py.txt"}
            steps = [
                f'add "{name}": "ferrule.definitions.reporters.{module}:REPORTER" to src/ferrule/definitions/reporters/builtin.py'
            ]
        case "executor" | "sink" | "notifier":
            files = {f"src/ferrule/{kind}s/{module}.py": f"{kind}.py.txt"}
            maker = {
                "executor": f"{_class_name(name)}Executor",
                "sink": "make",
                "notifier": f"{_class_name(name)}Notifier",
            }
            steps = [
                f'add "{name}": "ferrule.{kind}s.{module}:{maker[kind]}" to src/ferrule/{kind}s/builtin.py',
                _SUITES[kind],
            ]
        case _:
            raise SystemExit("KIND is rule, dialect, reporter, executor, sink or notifier")
    return files, [*steps, "make docs", "make check test"]


def write(root: Path, kind: str, name: str, standard: str = "aml", code: str = "AML-0") -> list[str]:
    """Write the skeleton below `root`; gives the steps left."""
    if not name.replace("-", "").isalnum() or name != name.lower():
        raise SystemExit("NAME is words in lower case joined by hyphens: undescribed-parameter")
    if standard not in STANDARDS:
        raise SystemExit(f"STANDARD is one of {', '.join(STANDARDS)}")
    files, steps = plan(kind, name, standard, code)
    words = {"@NAME@": name, "@CLASS@": _class_name(name), "@CODE@": code, "@STANDARD@": standard}
    for path in files:
        if (root / path).exists():
            raise SystemExit(f"{path} is there already")
    for path, template in files.items():
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        for word, value in words.items():
            text = text.replace(word, value)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    return steps


def _class_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--standard", default="aml")
    parser.add_argument("--code", default="AML-0")
    options = parser.parse_args()
    steps = write(ROOT, options.kind, options.name, options.standard, options.code)
    print("left to do:", *(f"  - {step}" for step in steps), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

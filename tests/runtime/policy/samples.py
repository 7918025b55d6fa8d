"""Tools, callers and policies for the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.policy import Classifier, JudgedCall
from ferrule.model.decision import Ruling
from ferrule.model.surface import SurfaceEntry, SurfaceRequest
from ferrule.model.tool import SafetyFacts, Tool, raw
from ferrule.runtime.policy.engine import RuleEngine, make_engine
from ferrule.runtime.policy.load import join_groups, order_files, refuse_errors
from ferrule.runtime.policy.read import read_text
from ferrule.runtime.policy.records import PolicySet

ROOT = "/srv/shop"


def tool(name: str = "refund", **fields: Any) -> Tool:
    facts = SafetyFacts(**{key: fields.pop(key) for key in list(fields) if key in SafetyFacts.__struct_fields__})
    schema = fields.pop("schema", {"type": "object"})
    payload = fields.pop("payload", {})
    unstated = tuple(
        name for name in SafetyFacts.__struct_fields__ if getattr(facts, name) == getattr(SafetyFacts(), name)
    )
    inferred = fields.pop("inferred", unstated)
    usual = {
        "tool_id": name,
        "namespace": "shop",
        "name": name,
        "description": "A tool.",
        "lifecycle": "available",
        "tool_kind": "function",
        "dialect": "aml",
    }
    return Tool(
        **{**usual, **fields}, facts=facts, inferred_facts=inferred, input_schema=raw(schema), payload=raw(payload)
    )


def entry(made: Tool | None = None, **fields: Any) -> SurfaceEntry:
    return SurfaceEntry(made or tool(), fields.pop("digest", ""), "loaded", **fields)


def caller(**fields: Any) -> SurfaceRequest:
    return SurfaceRequest(**{"principal": "ada", "channel": "agent-token", **fields})


def policy(**texts: str) -> PolicySet:
    """A policy from TOML texts by source: `policy(policy_settings="…")`."""
    reads = [read_text(text, source, f"{source}.toml") for source, text in texts.items()]  # type: ignore[arg-type]  # sources by name
    refuse_errors(reads)
    files = [read.file for read in reads]
    return PolicySet(files=order_files(files), groups=join_groups(files), root=ROOT, home="/home/ada")


def engine(classifiers: Mapping[str, Classifier] | None = None, **texts: str) -> RuleEngine:
    return make_engine(policy(**texts), classifiers)


def decide(
    made: RuleEngine, of: SurfaceEntry | None = None, by: SurfaceRequest | None = None, **arguments: Any
) -> Ruling:
    """The ruling for one call, facts as the tool has them."""
    of = of or entry()
    ruling = made.program(of, by or caller()).decide(judged(of, **arguments))
    assert isinstance(ruling, Ruling)
    return ruling


def judged(of: SurfaceEntry, **arguments: Any) -> JudgedCall:
    return JudgedCall(msgspec.json.decode(msgspec.json.encode(arguments)), of.tool.facts, 0)


def rule(decision: str, **matchers: Any) -> str:
    """One rule as TOML; values as JSON, which TOML reads alike for texts, numbers and lists."""
    lines = [f"{key} = {toml(value)}" for key, value in {"decision": decision, **matchers}.items()]
    return "[[rules]]\n" + "\n".join(lines) + "\n"


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {toml(member)}' for key, member in value.items()) + " }"
    return msgspec.json.encode(value).decode()


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file

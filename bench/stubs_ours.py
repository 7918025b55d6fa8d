"""Our side of the group `stubs`: implementation stubs of all tools in one language; the processor time is printed as JSON.

python -m bench.stubs_ours SCHEMAS.json LANGUAGE [FLAVOUR]
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from ferrule.contracts.language import Project
from ferrule.definitions.stubs.identifiers import ACRONYMS
from ferrule.definitions.stubs.languages.builtin import LANGUAGES
from ferrule.definitions.stubs.plan import StubChoice, plan_stubs
from ferrule.model.tool import Tool, raw


def tool(name: str, schema: dict[str, Any]) -> Tool:
    """A tool that takes what a schema says."""
    return Tool(
        tool_id=f"bench.{name}",
        namespace="bench",
        name=name,
        description="One of many tools.",
        lifecycle="available",
        tool_kind="function",
        dialect="oxp",
        version="1.0.0",
        input_schema=raw(schema),
    )


def main() -> None:
    """The command line."""
    file, name, *flavour = sys.argv[1:]
    tools = [tool(each, schema) for each, schema in json.loads(Path(file).read_text()).items()]
    language = LANGUAGES.get(name)
    project = Project(name="bench", version="1.0.0", acronyms=ACRONYMS)
    gc.collect()
    began, cpu = time.perf_counter(), time.process_time()
    written = language.write(plan_stubs(tools, project, language, StubChoice(flavour=flavour[0] if flavour else "")))
    taken = {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    print(json.dumps({**taken, "tools": len(tools), "files": len(written.files)}))


if __name__ == "__main__":
    main()

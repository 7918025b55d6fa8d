"""Writes what makes stubs a project of their own, built with `tsc` and run with Node.js."""

from __future__ import annotations

import json
import re

from ferrule.contracts.language import StubPlan
from ferrule.definitions.stubs.languages.typescript.text import SHARED, write_text_member

_VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_PACKAGE = re.compile(r"(@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*")
_OLDEST_NODE = 20
_PACKAGES = {
    "@modelcontextprotocol/sdk": "^1.20.0",
    "ajv": "^8.17.1",
    "eventsource-parser": "^3.0.0",
    "zod": "^4.3.0",
}
_TSCONFIG = """\
{
  "compilerOptions": {
    "target": "ES2022",
    "module": "NodeNext",
    "lib": ["ES2022"],
    "types": ["node"],
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "exactOptionalPropertyTypes": true,
    "skipLibCheck": true,
    "declaration": true,
    "rootDir": ".",
    "outDir": "dist"
  },
  "include": [INCLUDE]
}
"""
_MAIN = """\
import { Console } from "node:console";

import { loadConfig } from "./config.js";
import { serve } from "./ferrule/server.js";
import { buildToolBox } from "./tools/index.js";

const info = {
INFO};
// Standard output belongs to the protocol.
const logger = new Console(process.stderr);
await serve(info, buildToolBox(logger, loadConfig(logger)), logger);
"""
_SERVER = """\
# TITLE

Tools in TypeScript, served by the Model Context Protocol over standard input
and output.

```sh
npm install
npm run build
npm start
```

- `src/tools/*.ts` are yours: each has one function to fill in.
- `src/tools/generated`, `src/tools/index.ts`, `src/config.ts` and `src/ferrule`
  are generated again whenever the definitions change. When a tool's input or
  output changes, the compiler says where its function no longer fits.
- `src/services/*.ts` are yours too: what tools are given.
- `npm test` runs the tests in `test`.
- Built-in tools are done by a running Ferrule: `FERRULE_URL` says where it is
  and `FERRULE_TOKEN` who asks.

In the `ferrule.toml` of their workspace, this lets Ferrule run the tools with it:

```toml
PROGRAM```
"""
_CLIENT = """\
# TITLE

A typed client of tools that a running Ferrule serves.

```sh
npm install
npm run build
```

`src/client/index.ts` has the class `Client` with a method for each tool.
`FERRULE_URL` says where the server is and `FERRULE_TOKEN` who calls, unless the
options of the client do. A call that waits for a person ends with a
`FerruleError` whose `code` says so; `client.result` takes it up again, with the
tool's definition and the `details.invocation_id` of the error.
"""


def list_packages(plan: StubPlan) -> dict[str, str]:
    """Returns the packages that the stubs of a plan import, with their versions."""
    wanted = {plan.flavour}
    if plan.kind == "client":
        wanted.add("eventsource-parser")
    elif plan.is_project:
        wanted.add("@modelcontextprotocol/sdk")
    return {name: version for name, version in _PACKAGES.items() if name in wanted}


def write_project(plan: StubPlan) -> dict[str, str]:
    """Returns the files that belong to a person, by path."""
    is_client = plan.kind == "client"
    readme = _CLIENT if is_client else _SERVER.replace("PROGRAM", _write_program(plan))
    return {
        ".gitignore": "dist/\nnode_modules/\n",
        ".prettierignore": "dist/\n.ferrule-gen.json\n",
        "README.md": readme.replace("TITLE", _clean_heading(plan.project.name)),
        "package.json": json.dumps(_write_package(plan, is_client), indent=2, ensure_ascii=False) + "\n",
        "tsconfig.json": _TSCONFIG.replace("INCLUDE", '"src"' if is_client else '"src", "test"'),
    }


def write_main(plan: StubPlan) -> str:
    """Returns `src/main.ts`."""
    info = write_text_member("name", plan.project.name) + write_text_member("version", plan.project.version)
    return f"{SHARED}\n{_MAIN.replace('INFO', info)}"


def _clean_heading(title: str) -> str:
    """Returns words only: a heading that Markdown reads as nothing else."""
    return " ".join(re.sub(r"[^A-Za-z0-9 .-]+", " ", title).split()).strip(" .-") or "Tools"


def _write_package(plan: StubPlan, is_client: bool) -> dict[str, object]:
    project = plan.project
    node = project.language_version.partition(".")[0]
    oldest = max(_OLDEST_NODE, int(node)) if node.isdecimal() and len(node) < 3 else _OLDEST_NODE
    run = {"start": "node dist/src/main.js", "test": "tsc && node --test dist/test/*.test.js"}
    return {
        "name": _name_package(project.module or project.name),
        "version": project.version if _VERSION.fullmatch(project.version) else "0.1.0",
        "private": True,
        "type": "module",
        **({"main": "dist/src/client/index.js", "types": "dist/src/client/index.d.ts"} if is_client else {}),
        "engines": {"node": f">={oldest}"},
        "scripts": {"build": "tsc", **({} if is_client else run)},
        "dependencies": list_packages(plan),
        "devDependencies": {"@types/node": f"^{oldest}", "typescript": ">=5.4"},
    }


def _name_package(name: str) -> str:
    if _PACKAGE.fullmatch(name):
        return name
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:100] or "tools"


def _write_program(plan: StubPlan) -> str:
    """Returns the lines of `ferrule.toml` that name the program, which is called what the project is called."""
    name = re.sub(r"[^a-z0-9-]+", "-", _name_package(plan.project.module or plan.project.name).rpartition("/")[2])
    return plan.program_settings(name.strip("-") or "tools", "node", plan.workspace_path("dist/src/main.js"))

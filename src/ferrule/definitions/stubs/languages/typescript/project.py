"""Writes what makes stubs a project of their own: it builds with `tsc` alone and runs with Node.js alone."""

from __future__ import annotations

import json
import re

from ferrule.contracts.language import Plan
from ferrule.definitions.stubs.languages.typescript.parts import SHARED, text_member

_VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_PACKAGE = re.compile(r"(@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*")
_LIST = re.compile(r"\[\s+([^\[\]{}]*?)\s+\]")
_OPTIONS = {
    "target": "ES2022",
    "module": "NodeNext",
    "lib": ["ES2022", "DOM"],
    "types": [],
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "declaration": True,
    "rootDir": ".",
    "outDir": "dist",
}
_NODE = """\
// What is used of Node.js in tests, so that no package is needed. With
// @types/node, take "types" out of the "include" of tsconfig.json.

declare module "node:test" {
  export function test(
    name: string,
    body: () => void | Promise<void>,
  ): Promise<void>;
  export function test(
    name: string,
    options: { todo?: boolean | string; skip?: boolean | string },
    body: () => void | Promise<void>,
  ): Promise<void>;
}

declare module "node:assert/strict" {
  function assert(value: unknown, message?: string): asserts value;
  namespace assert {
    function ok(value: unknown, message?: string): asserts value;
    function equal(actual: unknown, expected: unknown, message?: string): void;
    function deepEqual(
      actual: unknown,
      expected: unknown,
      message?: string,
    ): void;
    function rejects(block: () => Promise<unknown>): Promise<void>;
    function throws(block: () => unknown): void;
  }
  export default assert;
}
"""
_MAIN = """\
import { loadConfig } from "./config.js";
import { hostProcess } from "./ferrule/host.js";
import { lineLogger } from "./ferrule/logger.js";
import { serve } from "./ferrule/mcp.js";
import { buildToolBox } from "./tools/index.js";

const host = hostProcess();
if (host === null) {
  throw new Error("this program needs Node.js");
}
const logger = lineLogger(host.stderr);
await serve({
NAME  toolBox: buildToolBox(logger, loadConfig(logger)),
  logger,
  source: host.stdin,
  sink: host.stdout,
});
// What a tool left behind does not keep the program alive.
host.stdout.write("", () => host.exit(0));
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
  are generated again whenever the definitions change. When an input or an
  output changes, the file of its tool does not compile until it is mended.
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
`PendingError`; `client.result` takes it up again, with the tool's definition
(`…Definition` in `src/client/index.ts`) and the `invocationId` of the error.
"""


def project_files(plan: Plan) -> dict[str, str]:
    """The files that belong to a person, by path."""
    is_client = plan.kind == "client"
    include = ["src"] if is_client else ["src", "test", "types"]
    readme = _CLIENT if is_client else _SERVER.replace("PROGRAM", _program(plan))
    return {
        ".gitignore": "dist/\nnode_modules/\n",
        ".prettierignore": "dist/\n.ferrule-gen.json\n",
        "README.md": readme.replace("TITLE", _plain(plan.project.name)),
        "package.json": _json(_package(plan, is_client)),
        "tsconfig.json": _json({"compilerOptions": _OPTIONS, "include": include}),
    }


def generated_files(plan: Plan) -> dict[str, str]:
    """The files of the project that are generated each time, by path."""
    if plan.kind == "client":
        return {}
    named = text_member("name", plan.project.name) + text_member("version", plan.project.version)
    return {"src/main.ts": f"{SHARED}\n{_MAIN.replace('NAME', named)}", "types/node.d.ts": f"{SHARED}\n{_NODE}"}


def _plain(title: str) -> str:
    """Words only: a heading that Markdown reads as nothing else."""
    return " ".join(re.sub(r"[^A-Za-z0-9 .-]+", " ", title).split()).strip(" .-") or "Tools"


def _package(plan: Plan, is_client: bool) -> dict[str, object]:
    project = plan.project
    build = {"build": "tsc"}
    run = {"start": "node dist/src/main.js", "test": "tsc && node --test dist/test/*.test.js"}
    return {
        "name": _package_name(project.module or project.name),
        "version": project.version if _VERSION.fullmatch(project.version) else "0.1.0",
        "private": True,
        "type": "module",
        **({"main": "dist/src/client/index.js", "types": "dist/src/client/index.d.ts"} if is_client else {}),
        "engines": {"node": ">=20"},
        "scripts": build if is_client else {**build, **run},
        "devDependencies": {"typescript": ">=5.4"},
    }


def _package_name(name: str) -> str:
    if _PACKAGE.fullmatch(name):
        return name
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:100] or "tools"


def _program(plan: Plan) -> str:
    """The lines of `ferrule.toml` that name the program, which is called what the project is called."""
    name = re.sub(r"[^a-z0-9-]+", "-", _package_name(plan.project.module or plan.project.name).rpartition("/")[2])
    return plan.program_settings(name.strip("-") or "tools", "node", plan.placed("dist/src/main.js"))


def _json(value: object) -> str:
    """JSON with short lists on one line, as formatters have it."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _LIST.sub(lambda found: f"[{', '.join(found[1].split())}]".replace(",,", ","), text) + "\n"

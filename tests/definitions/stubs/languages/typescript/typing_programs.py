"""Programs over the catalog's types: what has to compile, and what must not (`@ts-expect-error` fails where it does)."""

from __future__ import annotations

_PRESENCE = """
import type { PresenceInput } from "../tools/generated/presence.js";

export const least: PresenceInput = { needed: "", needed_or_null: null };
export const most: PresenceInput = {
  needed: "a",
  needed_or_null: "b",
  left_out: "c",
  left_out_or_null: null,
};
// @ts-expect-error a required member is missing
export const missing: PresenceInput = { needed: "a" };
// @ts-expect-error null where it is not nullable
export const nothing: PresenceInput = { needed: null, needed_or_null: null };
// @ts-expect-error left out is not undefined
export const undefinedGiven: PresenceInput = {
  needed: "a",
  needed_or_null: null,
  left_out: undefined,
};
export const nullGiven: PresenceInput = {
  needed: "a",
  needed_or_null: null,
  // @ts-expect-error left out is not null
  left_out: null,
};
// @ts-expect-error a member that there is not
export const more: PresenceInput = { needed: "", needed_or_null: "", x: 1 };
// @ts-expect-error it may be left out
export const text: string = most.left_out;
// @ts-expect-error it may be null
export const again: string = most.needed_or_null;
"""
_TAGGED = """
import type { TaggedInput, TaggedShape } from "../tools/generated/tagged.js";

export function area(shape: TaggedShape): number {
  switch (shape.kind) {
    case "circle":
      return shape.radius;
    case "square":
      return shape.side;
    case "point":
    case "nothing":
      return 0;
    default:
      return shape satisfies never;
  }
}

export function wrong(shape: TaggedShape): number {
  if (shape.kind === "circle") {
    // @ts-expect-error another variant's member
    return shape.side;
  }
  // @ts-expect-error no variant has this tag
  return shape.kind === "hexagon" ? 1 : 0;
}
// @ts-expect-error the tag decides which members there are
export const mixed: TaggedInput = { shape: { kind: "circle", side: 1 } };
export const right: TaggedInput = { shape: { kind: "circle", radius: 1 } };
"""
_OTHERS = """
import type { EnumsInput } from "../tools/generated/enums.js";
import type { ListsInput } from "../tools/generated/lists.js";
import type { MapsInput } from "../tools/generated/maps.js";
import type { RecursiveInput } from "../tools/generated/recursive.js";
import { scalarsDefinition as definition } from "../tools/generated/scalars.js";

export const unit: EnumsInput = { unit: "kelvin" };
// @ts-expect-error no such value
export const cold: EnumsInput = { unit: "cold" };
export const pair: ListsInput = { pair: ["a", 1] };
// @ts-expect-error too short
export const short: ListsInput = { pair: ["a"] };
// @ts-expect-error the wrong way round
export const swapped: ListsInput = { pair: [1, "a"] };
export const maps: MapsInput = { labels: { "any name": "x" } };
// @ts-expect-error another type of value
export const wrongMap: MapsInput = { labels: { name: 1 } };
export const recursive: RecursiveInput = {
  root: { value: "a", next: { value: "b", next: null, children: [] } },
};
export const count: number = definition.parseInput({}).count;
// @ts-expect-error the input of a tool has its type
export const flag: string = definition.parseInput({}).flag;
"""
_TOOLS = """
import type { PresenceTool } from "../tools/generated/presence.js";

const answer = { needed: "", needed_or_null: null };
export const right: PresenceTool = async (input) => ({ ...answer, ...input });
export const watched: PresenceTool = async (input, { signal, report }) => {
  report({ progress: signal.aborted ? 2 : 1 });
  return input;
};
// @ts-expect-error a member of the output is missing
export const less: PresenceTool = async () => ({ needed: "" });
// @ts-expect-error the input has no such member
export const more: PresenceTool = async (input) => ({ ...answer, x: input.x });
"""
PROGRAMS = {
    f"src/tools/typing_{name}.ts": text.replace('"../tools/generated', '"./generated')
    for name, text in {"presence": _PRESENCE, "tagged": _TAGGED, "others": _OTHERS, "tools": _TOOLS}.items()
}
"""By path."""

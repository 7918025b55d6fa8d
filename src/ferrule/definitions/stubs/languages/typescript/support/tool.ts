/** Tools as programs hold them: a name, a schema, and what to run. */

import type { Schema } from "./schema.js";

/** Where tools and services say what they do. */
export interface Logger {
  debug(message: string, details?: unknown): void;
  info(message: string, details?: unknown): void;
  warn(message: string, details?: unknown): void;
  error(message: string, details?: unknown): void;
}

/** How far a call is. */
export interface Progress {
  /** Rises from one report to the next. */
  readonly progress: number;
  /** What `progress` will be in the end, where that is known. */
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** One call of a tool. */
export interface ToolCall {
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal;
  /** Tells the caller how far it is, if it asked. */
  report(progress: Progress): void;
}

/** What a tool is made of. */
export interface ToolOptions {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  /** The schema of its arguments. */
  readonly parameters: Schema;
  /** The schema of its result; null where nothing is said of it. */
  readonly output?: Schema | null | undefined;
  /** Takes and gives JSON text. Throws when the tool fails. */
  readonly execute: (args: string, call: ToolCall) => Promise<string>;
}

/** A tool that can be run. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly parameters: Schema;
  readonly output: Schema | null;
  execute(args: string, call?: ToolCall): Promise<string>;
}

/** A tool that nobody has written yet. */
export class NotImplementedError extends Error {
  override readonly name: string = "NotImplementedError";

  constructor(tool: string) {
    super(`${tool} is not implemented yet`);
  }
}

/** A call that nobody can cancel and nobody watches. */
export function quietCall(): ToolCall {
  return { signal: new AbortController().signal, report: () => undefined };
}

/** Makes a tool of its parts. */
export function createTool(options: ToolOptions): Tool {
  return {
    name: options.name,
    title: options.title ?? "",
    description: options.description,
    parameters: options.parameters,
    output: options.output ?? null,
    execute: (args, call = quietCall()) => options.execute(args, call),
  };
}

/** Tools by name, in the order in which they were added. */
export class ToolBox implements Iterable<Tool> {
  readonly #tools = new Map<string, Tool>();

  /** Adds a tool. Two tools of one name are a mistake. */
  add(tool: Tool): this {
    if (this.#tools.has(tool.name)) {
      throw new Error(`there are two tools called ${tool.name}`);
    }
    this.#tools.set(tool.name, tool);
    return this;
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  [Symbol.iterator](): Iterator<Tool> {
    return this.#tools.values();
  }
}

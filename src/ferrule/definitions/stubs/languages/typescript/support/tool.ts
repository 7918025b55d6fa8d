/** What tools are: a definition, and a function that does the work. */

/** Where tools and services say what they do. */
export type Logger = Pick<Console, "debug" | "info" | "warn" | "error">;

export type JsonSchema = { readonly [keyword: string]: unknown };

/** What a tool is called, what it takes and what it gives. */
export interface ToolDefinition<Input, Output> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  /** Throws when a value is no input of the tool. */
  readonly parseInput: (value: unknown) => Input;
  /** Throws when a value is no output of the tool. */
  readonly parseOutput: (value: unknown) => Output;
}

/** One call of a tool. */
export interface ToolCall {
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal;
  /** Tells the caller how far the call is: `progress` rises each time. */
  readonly report: (how: {
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
  }) => void;
}

/** What does the work of a tool. */
export type Tool<Input, Output> = (
  input: Input,
  call: ToolCall,
) => Promise<Output>;

/** Tools by name, in the order in which they were added. */
export class ToolBox {
  readonly definitions: ToolDefinition<unknown, unknown>[] = [];
  readonly #tools = new Map<string, Tool<unknown, unknown>>();

  add<Input, Output>(
    definition: ToolDefinition<Input, Output>,
    tool: Tool<Input, Output>,
  ): void {
    this.definitions.push(definition);
    this.#tools.set(definition.name, async (input, call) =>
      definition.parseOutput(await tool(definition.parseInput(input), call)),
    );
  }

  /** Runs a tool. Throws when the input does not fit, or the tool fails. */
  async call(name: string, input: unknown, call: ToolCall): Promise<unknown> {
    const tool = this.#tools.get(name);
    if (tool === undefined) {
      throw new RangeError(`there is no tool called ${name}`);
    }
    return tool(input, call);
  }
}

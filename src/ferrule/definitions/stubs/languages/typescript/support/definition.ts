/** What a tool is called, what it takes and what it gives. */

import { encodeJson, parseJson } from "./json.js";
import { Schema } from "./schema.js";

/** The words and the schemas of a tool. */
export interface DefinitionOptions {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** Of the definition these types were made from. */
  readonly digest: string;
  /** JSON Schema, as text. */
  readonly input: string;
  /** JSON Schema, as text; null where the tool says nothing of its result. */
  readonly output: string | null;
}

/** The types of what a tool takes and gives. */
export interface ToolTypes {
  input: unknown;
  output: unknown;
}

/** A tool's definition, with its types. */
export class Definition<Types extends ToolTypes> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly digest: string;
  /** The schema of the input. */
  readonly parameters: Schema;
  /** The schema of the output; null where there is none. */
  readonly output: Schema | null;

  constructor(options: DefinitionOptions) {
    this.name = options.name;
    this.title = options.title;
    this.description = options.description;
    this.tags = options.tags;
    this.digest = options.digest;
    this.parameters = new Schema(options.input, "input");
    this.output =
      options.output === null ? null : new Schema(options.output, "output");
  }

  /** Reads and checks an input. */
  decodeInput(source: string | Uint8Array): Types["input"] {
    return this.parameters.decode(source) as Types["input"];
  }

  /** Checks an input and writes it. */
  encodeInput(input: Types["input"]): string {
    return this.parameters.encode(input);
  }

  /** Reads and checks an output. */
  decodeOutput(source: string | Uint8Array): Types["output"] {
    return (
      this.output === null ? parseJson(source) : this.output.decode(source)
    ) as Types["output"];
  }

  /** Checks an output and writes it. */
  encodeOutput(output: Types["output"]): string {
    return this.output === null
      ? encodeJson(output)
      : this.output.encode(output);
  }
}

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

/** A tool's definition, with its types. */
export class Definition<Input, Output> {
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
  decodeInput(source: string | Uint8Array): Input {
    return this.parameters.decode(source) as Input;
  }

  /** Checks an input and writes it. */
  encodeInput(input: Input): string {
    return this.parameters.encode(input);
  }

  /** Reads and checks an output. */
  decodeOutput(source: string | Uint8Array): Output {
    return (
      this.output === null ? parseJson(source) : this.output.decode(source)
    ) as Output;
  }

  /** Checks an output and writes it. */
  encodeOutput(output: Output): string {
    return this.output === null
      ? encodeJson(output)
      : this.output.encode(output);
  }
}

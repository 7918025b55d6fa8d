/**
 * Serves tools by the Model Context Protocol over standard input and output:
 * one JSON-RPC message a line. Calls run side by side and can be canceled.
 */

import { within, type Sink, type Source } from "./host.js";
import {
  encodeExactJson,
  isObject,
  parseExactJson,
  type ExactJson,
} from "./json.js";
import { isNumeric } from "./numbers.js";
import type { Schema } from "./schema.js";
import type { Logger, Progress, Tool, ToolBox, ToolCall } from "./tool.js";

const REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26"];
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

const PATIENCE_SECONDS = 10;

type Params = { readonly [name: string]: ExactJson };
type Id = string | number | bigint;

/** What to serve, and as whom. */
export interface ServerOptions {
  readonly name: string;
  readonly version: string;
  readonly toolBox: ToolBox;
  readonly logger: Logger;
  readonly source: Source;
  readonly sink: Sink;
  /** How long calls may go on when there is nothing more to read: else 10. */
  readonly patienceSeconds?: number | undefined;
}

/** Answers until there is nothing more to read. */
export async function serve(options: ServerOptions): Promise<void> {
  const server = new Server(options);
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of options.source) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach((line) => server.receive(line));
  }
  server.receive(rest + decoder.decode());
  await server.end();
}

/** A request that cannot be answered. */
class Refusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

class Server {
  readonly #options: ServerOptions;
  readonly #running = new Map<Id, AbortController>();
  readonly #open = new Set<Promise<void>>();

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  /** Takes a line. The answer follows when it is there. */
  receive(line: string): void {
    if (line.trim() === "") {
      return;
    }
    const answering = this.#answered(line).then((answer) => {
      this.#open.delete(answering);
      if (answer !== null) {
        this.#options.sink.write(`${answer}\n`);
      }
    });
    this.#open.add(answering);
  }

  /** What still runs is waited for a while, and then told to stop. */
  async end(): Promise<void> {
    const seconds = this.#options.patienceSeconds ?? PATIENCE_SECONDS;
    const all = Promise.all(this.#open);
    try {
      await within(seconds, all);
    } catch {
      this.#running.forEach((running) => running.abort());
      await all;
    }
  }

  async #answered(line: string): Promise<string | null> {
    let message: ExactJson;
    try {
      message = parseExactJson(line);
    } catch {
      return failure(null, PARSE_ERROR, "the line is not JSON");
    }
    if (!Array.isArray(message)) {
      return this.#answer(message);
    }
    if (message.length === 0) {
      return failure(null, INVALID_REQUEST, "the batch is empty");
    }
    const all = message.map((each) => this.#answer(each));
    const answers = (await Promise.all(all)).filter((each) => each !== null);
    return answers.length === 0 ? null : `[${answers.join(",")}]`;
  }

  async #answer(message: ExactJson): Promise<string | null> {
    if (!isObject(message) || message["jsonrpc"] !== "2.0") {
      return failure(null, INVALID_REQUEST, "this is no JSON-RPC 2.0 message");
    }
    const { id, method } = message;
    const params = isObject(message["params"]) ? message["params"] : {};
    if (typeof method !== "string") {
      return null;
    }
    if (!isId(id)) {
      this.#notified(method, params);
      return null;
    }
    try {
      const result = await this.#requested(id, method, params);
      return result === null ? null : success(id, result);
    } catch (error) {
      return error instanceof Refusal
        ? failure(id, error.code, error.message)
        : failure(id, -32603, messageOf(error));
    }
  }

  #notified(method: string, params: Params): void {
    const id = params["requestId"];
    if (method === "notifications/cancelled" && isId(id)) {
      this.#running.get(id)?.abort(new Error("the caller canceled the call"));
    }
  }

  /** The JSON text of a result; null where none is wanted any more. */
  #requested(
    id: Id,
    method: string,
    params: Params,
  ): string | Promise<string | null> {
    switch (method) {
      case "initialize":
        return this.#initialized(params);
      case "ping":
        return "{}";
      case "tools/list":
        return `{"tools":[${[...this.#options.toolBox].map(listed).join(",")}]}`;
      case "tools/call":
        return this.#called(id, params);
      default:
        throw new Refusal(METHOD_NOT_FOUND, `there is no method ${method}`);
    }
  }

  #initialized(params: Params): string {
    const wanted = REVISIONS.find(
      (revision) => revision === params["protocolVersion"],
    );
    const { name, version } = this.#options;
    return JSON.stringify({
      protocolVersion: wanted ?? REVISIONS[0],
      capabilities: { tools: {} },
      serverInfo: { name, version },
    });
  }

  async #called(id: Id, params: Params): Promise<string | null> {
    const name = String(params["name"]);
    const tool = this.#options.toolBox.get(name);
    if (tool === undefined) {
      throw new Refusal(INVALID_PARAMS, `Unknown tool: ${name}`);
    }
    const running = new AbortController();
    this.#running.set(id, running);
    try {
      const args = encodeExactJson(params["arguments"] ?? {});
      const call = this.#call(params, running.signal);
      const result = await ended(tool, args, call);
      return running.signal.aborted ? null : result;
    } catch (error) {
      this.#options.logger.error(`${name} failed`, messageOf(error));
      return running.signal.aborted ? null : failed(messageOf(error));
    } finally {
      this.#running.delete(id);
    }
  }

  #call(params: Params, signal: AbortSignal): ToolCall {
    const meta = params["_meta"];
    const progressToken = isObject(meta) ? meta["progressToken"] : undefined;
    const report = (progress: Progress): void => {
      if (progressToken === undefined || signal.aborted) {
        return;
      }
      const token = encodeExactJson(progressToken);
      this.#options.sink.write(`${progressed(token, progress)}\n`);
    };
    return { signal, report };
  }
}

function isId(value: ExactJson | undefined): value is Id {
  return typeof value === "string" || isNumeric(value);
}

/** The message that tells how far a call is. */
function progressed(token: string, progress: Progress): string {
  const said = JSON.stringify(progress).slice(1);
  const params = `{"progressToken":${token},${said}`;
  return `{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`;
}

/** The result of a call, unless it is canceled first. */
async function ended(
  tool: Tool,
  args: string,
  call: ToolCall,
): Promise<string> {
  const canceled = new Promise<never>((_resolve, reject) => {
    call.signal.addEventListener("abort", () => {
      reject(new Error("the call was canceled"));
    });
  });
  const text = await Promise.race([tool.execute(args, call), canceled]);
  const content = JSON.stringify(contentOf(text));
  const value = structured(text);
  return value === null
    ? `{"content":${content},"isError":false}`
    : `{"content":${content},"structuredContent":${value},"isError":false}`;
}

/** An output as content: a text as it is, nothing for null, else as JSON. */
function contentOf(output: string): { type: string; text: string }[] {
  const trimmed = output.trim();
  if (trimmed === "null") {
    return [];
  }
  return [{ type: "text", text: quotedText(trimmed) ?? output }];
}

/** The text that a JSON string is; null where it is none. */
function quotedText(json: string): string | null {
  try {
    const value: unknown = json.startsWith('"') ? JSON.parse(json) : null;
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}

/** The JSON object that a text is, on one line; null where it is none. */
function structured(text: string): string | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(value)) {
    return null;
  }
  return /[\r\n]/.test(text) ? JSON.stringify(value) : text;
}

function failed(message: string): string {
  const content = [{ type: "text", text: message }];
  return JSON.stringify({ content, isError: true });
}

function listed(tool: Tool): string {
  const parts = [
    `"name":${JSON.stringify(tool.name)}`,
    ...(tool.title === "" ? [] : [`"title":${JSON.stringify(tool.title)}`]),
    `"description":${JSON.stringify(tool.description)}`,
    `"inputSchema":${ofObject(tool.parameters)}`,
    ...(tool.output !== null && isOfObject(tool.output)
      ? [`"outputSchema":${tool.output.text}`]
      : []),
  ];
  return `{${parts.join(",")}}`;
}

function isOfObject(schema: Schema): boolean {
  const root = schema.toJSON();
  return isObject(root) && root["type"] === "object";
}

/** The text of a schema; the protocol wants it to say that it is an object. */
function ofObject(schema: Schema): string {
  const root = schema.toJSON();
  if (!isObject(root) || Object.keys(root).length === 0) {
    return root === false ? '{"type":"object","not":{}}' : '{"type":"object"}';
  }
  const text = schema.text.trim();
  return "type" in root ? text : `{"type":"object",${text.slice(1)}`;
}

function success(id: Id, result: string): string {
  return `{"jsonrpc":"2.0","id":${encodeExactJson(id)},"result":${result}}`;
}

function failure(id: Id | null, code: number, message: string): string {
  const error = JSON.stringify({ code, message });
  return `{"jsonrpc":"2.0","id":${encodeExactJson(id)},"error":${error}}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

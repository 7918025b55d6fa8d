/** Calls the tools of a running Ferrule over HTTP. */

import { EventSourceParserStream } from "eventsource-parser/stream";

import {
  FerruleError,
  outputOf,
  send,
  type CallDetails,
  type ConnectionOptions,
} from "./connection.js";

/** How one call is made. */
export interface CallOptions {
  /** Cancels the call, here and at the server. */
  readonly signal?: AbortSignal;
  /** The same key and arguments give the same result, without a new call. */
  readonly idempotencyKey?: string;
  /** When the server gives up. */
  readonly timeoutSeconds?: number;
  /** Refuses the call if the definition of the tool has changed since. */
  readonly isPinned?: boolean;
  /** Hears how far the call is. */
  readonly onProgress?: (details: CallDetails) => void;
  /** Hears that the call waits for a person. Without it, such a call ends here
   * with its state as the code of the error: `awaiting_approval`. */
  readonly onWaiting?: (details: CallDetails) => void;
}

/** The tool of a call. */
export interface CallDefinition<Output> {
  readonly name: string;
  /** Of the definition that the types were made from. */
  readonly digest: string;
  /** Throws when a value is no output of the tool. */
  readonly parseOutput: (value: unknown) => Output;
}

/** A connection to a Ferrule. */
export class FerruleClient {
  readonly #options: ConnectionOptions;

  constructor(options: ConnectionOptions = {}) {
    this.#options = options;
  }

  /** Calls a tool and waits for its result. Throws a `FerruleError`. */
  async call<Output>(
    definition: CallDefinition<Output>,
    input: unknown,
    options: CallOptions = {},
  ): Promise<Output> {
    const digest = definition.digest.replace("sha256:", "");
    const body = JSON.stringify({
      tool: definition.name,
      arguments: input,
      timeout_seconds: options.timeoutSeconds,
      digest: options.isPinned ? digest : undefined,
    });
    const headers = new Headers({ "Content-Type": "application/json" });
    if (options.idempotencyKey !== undefined) {
      headers.set("Idempotency-Key", options.idempotencyKey);
    }
    const request = { method: "POST", headers, body };
    return this.#follow("/v1/calls", request, definition, options);
  }

  /** Waits for the result of a call that was made before. */
  async result<Output>(
    definition: CallDefinition<Output>,
    invocationId: string,
    options: CallOptions = {},
  ): Promise<Output> {
    const path = `/v1/calls/${encodeURIComponent(invocationId)}/events`;
    return this.#follow(path, {}, definition, options);
  }

  /** Cancels a call at the server. */
  async cancel(invocationId: string): Promise<void> {
    const path = `/v1/calls/${encodeURIComponent(invocationId)}/cancel`;
    await send(this.#options, path, { method: "POST" });
  }

  async #follow<Output>(
    path: string,
    request: RequestInit,
    definition: CallDefinition<Output>,
    options: CallOptions,
  ): Promise<Output> {
    const { signal = null } = options;
    const known: CallDetails[] = [];
    try {
      const headers = new Headers(request.headers);
      headers.set("Accept", "text/event-stream");
      const sent = { ...request, headers, signal };
      const answer = await send(this.#options, path, sent);
      for await (const [event, details] of eventsOf(answer)) {
        known.unshift(details);
        if (event === "result") {
          break;
        }
        listen(event, details, options);
      }
    } catch (cause) {
      const id = known[0]?.invocation_id;
      if (signal?.aborted && request.method === "POST" && id !== undefined) {
        await this.cancel(id).catch(() => undefined);
      }
      // What fetch throws when there is no connection, or it breaks off.
      throw cause instanceof TypeError ? lost(known[0], cause) : cause;
    }
    if (known[0]?.result === undefined) {
      throw lost(known[0]);
    }
    return outputOf(known[0], definition.parseOutput);
  }
}

async function* eventsOf(
  answer: Response,
): AsyncGenerator<[string, CallDetails]> {
  const events = answer.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { event = "", data } of events ?? []) {
    yield [event, JSON.parse(data) as CallDetails];
  }
}

function listen(event: string, details: CallDetails, options: CallOptions) {
  if (event === "progress") {
    options.onProgress?.(details);
  } else if (event === "waiting" && options.onWaiting === undefined) {
    throw new FerruleError(details.state ?? event, details);
  } else if (event === "waiting") {
    options.onWaiting?.(details);
  }
}

function lost(known?: CallDetails, cause?: unknown): FerruleError {
  const details = { ...known, message: "the server gave no answer" };
  return new FerruleError("connection", details, { cause });
}

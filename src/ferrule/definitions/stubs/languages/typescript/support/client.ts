/**
 * Calls the tools of a running Ferrule over HTTP. An abort cancels the call at
 * the server too; a broken connection is taken up again where it broke.
 */

import {
  errorOfResponse,
  failureHere,
  membersOf,
  textOf,
  unexpected,
  unreachable,
  valueOf,
} from "./answers.js";
import type { Definition, ToolTypes } from "./definition.js";
import { CanceledError } from "./errors.js";
import { LostError } from "./events.js";
import { Following, type CallOptions } from "./following.js";
import { environment, within } from "./host.js";
import { encodeJson, numbered } from "./json.js";

const RESUMPTIONS = 3;
const CANCEL_SECONDS = 10;
const LEARN_SECONDS = 2;

/** Where the server is and who calls. */
export interface ClientOptions {
  /** `http://127.0.0.1:8080`; else the variable FERRULE_URL. */
  readonly url?: string | undefined;
  /** The bearer token; else the variable FERRULE_TOKEN. */
  readonly token?: string | undefined;
  /** The run that calls belong to. */
  readonly run?: string | undefined;
  /** What sends requests, for tests. */
  readonly fetch?: typeof fetch | undefined;
}

interface Request {
  readonly method: string;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string;
}

/** A connection to a Ferrule. */
export class FerruleClient {
  readonly #url: string;
  readonly #headers: { [name: string]: string };
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions = {}) {
    const url = options.url ?? environment("FERRULE_URL");
    if (url === "") {
      throw new TypeError("where is the server? set FERRULE_URL, or give url");
    }
    const token = options.token ?? environment("FERRULE_TOKEN");
    this.#url = url.replace(/\/+$/, "").replace(/\/v1$/, "");
    this.#headers = {
      ...(token === "" ? {} : { Authorization: `Bearer ${token}` }),
      ...(options.run === undefined ? {} : { "Ferrule-Run": options.run }),
    };
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
  }

  /** Calls a tool and waits for its result. Throws a `FerruleError`. */
  async call<Types extends ToolTypes>(
    definition: Definition<Types>,
    input: Types["input"],
    options: CallOptions = {},
  ): Promise<Types["output"]> {
    const body = {
      tool: definition.name,
      arguments: input,
      timeout_seconds: options.timeoutSeconds,
      digest: options.isPinned === true ? digestOf(definition) : undefined,
    };
    const key = options.idempotencyKey;
    const request: Request = {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(key === undefined ? {} : { "Idempotency-Key": key }),
      },
      body: encodeJson(body),
    };
    return this.#followed(definition, "/v1/calls", request, options);
  }

  /**
   * Waits for the result of a call that was made before. Its signal ends the
   * waiting, and not the call.
   */
  async result<Types extends ToolTypes>(
    definition: Definition<Types>,
    invocationId: string,
    options: CallOptions = {},
  ): Promise<Types["output"]> {
    const path = eventsPath(invocationId);
    const request: Request = { method: "GET", headers: {} };
    return this.#followed(definition, path, request, options, invocationId);
  }

  /** Cancels a call at the server. */
  async cancel(invocationId: string): Promise<void> {
    const path = `/v1/calls/${encodeURIComponent(invocationId)}/cancel`;
    const signal = AbortSignal.timeout(CANCEL_SECONDS * 1000);
    const request = { method: "POST", headers: {} };
    const response = await this.#sent(path, request, signal);
    await response.body?.cancel();
  }

  /** Follows a call to its end, unless it is aborted before. */
  async #followed<Types extends ToolTypes>(
    definition: Definition<Types>,
    path: string,
    request: Request,
    options: CallOptions,
    invocationId = "",
  ): Promise<Types["output"]> {
    const following = new Following(invocationId, options);
    const isOwn = invocationId === "";
    const { signal } = options;
    const reason = (): unknown =>
      isOwn ? canceled(following.invocationId, signal?.reason) : signal?.reason;
    if (signal?.aborted === true) {
      throw reason();
    }
    let abort = (): void => undefined;
    const aborted = new Promise<never>((_resolve, reject) => {
      abort = () => {
        reject(reason());
        void (isOwn ? this.#abandon(following) : following.stop());
      };
    });
    signal?.addEventListener("abort", abort);
    try {
      const ended = this.#ended(path, request, following);
      return outputOf(definition, await Promise.race([ended, aborted]));
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Cancels a call whose id may have to be learnt first, if it soon is. */
  async #abandon(following: Following): Promise<void> {
    try {
      const id = await within(LEARN_SECONDS, following.known);
      await this.cancel(id);
    } catch {
      // Nobody is left to be told.
    } finally {
      following.stop();
    }
  }

  /** The result of a call, as the server tells it. */
  async #ended(
    path: string,
    request: Request,
    following: Following,
  ): Promise<unknown> {
    let [address, sent] = [path, request];
    for (let left = RESUMPTIONS; ; left -= 1) {
      try {
        return await following.read(
          await this.#opened(address, sent, following),
        );
      } catch (error) {
        const { invocationId } = following;
        following.fail(error);
        if (!(error instanceof LostError)) {
          throw error;
        }
        if (invocationId === "" || left === 0) {
          throw unreachable(error.message, invocationId, error.cause);
        }
        address = eventsPath(invocationId);
        sent = { method: "GET", headers: following.resumption() };
      }
    }
  }

  async #opened(
    path: string,
    request: Request,
    following: Following,
  ): Promise<Response> {
    const headers = { ...request.headers, Accept: "text/event-stream" };
    const signal = following.stopped;
    const response = await this.#sent(path, { ...request, headers }, signal);
    if (!response.ok) {
      throw await errorOfResponse(response);
    }
    return response;
  }

  async #sent(
    path: string,
    request: Request,
    signal: AbortSignal,
  ): Promise<Response> {
    const headers = { ...this.#headers, ...request.headers };
    try {
      return await this.#fetch(this.#url + path, {
        ...request,
        headers,
        signal,
      });
    } catch (cause) {
      throw new LostError("the server cannot be reached", { cause });
    }
  }
}

function eventsPath(invocationId: string): string {
  return `/v1/calls/${encodeURIComponent(invocationId)}/events`;
}

function digestOf(definition: Definition<ToolTypes>): string {
  return definition.digest.replace(/^sha256:/, "");
}

function canceled(invocationId: string, cause: unknown): CanceledError {
  const message = "the call was canceled here";
  const failure = failureHere("canceled", message, invocationId);
  return new CanceledError({ ...failure, errorClass: "canceled" }, { cause });
}

/** The typed output of a result that is no error. */
function outputOf<Types extends ToolTypes>(
  definition: Definition<Types>,
  result: unknown,
): Types["output"] {
  const said = membersOf(result);
  try {
    const value = valueOf(said, definition.output);
    definition.output?.check(value);
    return numbered({ value, hasBigints: true });
  } catch (cause) {
    const id = textOf(said["invocation_id"]);
    throw unexpected(`${definition.name}: ${String(cause)}`, id, cause);
  }
}

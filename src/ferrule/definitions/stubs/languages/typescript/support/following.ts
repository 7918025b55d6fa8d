/** One call, as its events tell it. */

import {
  errorOfResult,
  failureHere,
  membersOf,
  progressOf,
  textOf,
  unexpected,
  waitingOf,
  type CallProgress,
  type Waiting,
} from "./answers.js";
import { PendingError } from "./errors.js";
import { LostError, serverEvents, type ServerEvent } from "./events.js";
import { parseExactJson } from "./json.js";

/** How one call is made. */
export interface CallOptions {
  /** Cancels the call, here and at the server. */
  readonly signal?: AbortSignal | undefined;
  /** The same key and arguments give the same result, without a new call. */
  readonly idempotencyKey?: string | undefined;
  /** When the server gives up. */
  readonly timeoutSeconds?: number | undefined;
  /** Told how far the call is. */
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
  /** Told that the call waits for a person, and then it is waited for. Without
   * it such a call ends here with a `PendingError`. */
  readonly onWaiting?: ((waiting: Waiting) => void) | undefined;
  /** Refuse the call if the tool's definition has changed since. */
  readonly isPinned?: boolean | undefined;
}

/** A call that somebody waits for. */
export class Following {
  invocationId: string;
  /** The id of the call, as soon as the server has told it. */
  readonly known: Promise<string>;
  readonly #options: CallOptions;
  readonly #stopping = new AbortController();
  #lastEvent = "";
  #tell: (id: string) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;

  constructor(invocationId: string, options: CallOptions) {
    this.invocationId = "";
    this.#options = options;
    this.known = new Promise((resolve, reject) => {
      this.#tell = resolve;
      this.#fail = reject;
    });
    this.known.catch(() => undefined);
    this.#learn(invocationId);
  }

  /** Aborted when nothing more is to be read. */
  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** There will be no id, if there is none yet. */
  fail(error: unknown): void {
    this.#fail(error);
  }

  /** The headers that ask for the events after the last one seen. */
  resumption(): { [name: string]: string } {
    return this.#lastEvent === "" ? {} : { "Last-Event-ID": this.#lastEvent };
  }

  /** The result that the events of an answer lead to. */
  async read(response: Response): Promise<unknown> {
    const place = response.headers.get("content-location") ?? "";
    this.#learn(place.replace(/^.*\//, ""));
    if (response.body === null) {
      throw new LostError("the answer is empty");
    }
    for await (const event of serverEvents(response.body)) {
      const said = this.#parsed(event.data);
      this.#learn(textOf(said["invocation_id"]));
      if (/^\d+$/.test(event.id)) {
        this.#lastEvent = event.id;
      }
      if (event.name === "result") {
        return resultOf(said);
      }
      this.#told(event, said);
    }
    throw new LostError("the answer broke off");
  }

  #parsed(data: string): { readonly [name: string]: unknown } {
    try {
      return membersOf(parseExactJson(data));
    } catch (cause) {
      throw unexpected(String(cause), this.invocationId, cause);
    }
  }

  #learn(invocationId: string): void {
    if (invocationId !== "" && this.invocationId === "") {
      this.invocationId = invocationId;
      this.#tell(invocationId);
    }
  }

  #told(event: ServerEvent, said: unknown): void {
    const { onProgress, onWaiting } = this.#options;
    if (event.name === "progress") {
      onProgress?.(progressOf(said));
    } else if (event.name === "waiting") {
      const waiting = waitingOf(said);
      if (onWaiting === undefined) {
        throw pending(waiting);
      }
      onWaiting(waiting);
    }
  }
}

function resultOf(said: { readonly [name: string]: unknown }): unknown {
  const { result } = said;
  const error = errorOfResult(result);
  if (error !== null) {
    throw error;
  }
  return result;
}

function pending(waiting: Waiting): PendingError {
  const { state, message, invocationId } = waiting;
  const failure = failureHere(state, message, invocationId);
  return new PendingError(failure, state, waiting.expiresAt);
}

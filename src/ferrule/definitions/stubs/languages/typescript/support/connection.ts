/** Requests to a running Ferrule, and what it answers. */

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Where the server is and who calls. */
export interface ConnectionOptions {
  /** `https://ferrule.example.com`; else the variable FERRULE_URL. */
  readonly url?: string;
  /** The bearer token; else the variable FERRULE_TOKEN. */
  readonly token?: string;
  /** Lets the token go to another machine without encryption. */
  readonly allowPlainHttp?: boolean;
}

/** What Ferrule says of a call, its progress, its result or an error. */
export interface CallDetails {
  readonly invocation_id?: string;
  readonly state?: string;
  readonly message?: string | null;
  readonly percent?: number | null;
  readonly code?: string;
  readonly detail?: string;
  readonly error_class?: string;
  readonly error_code?: string;
  readonly retry_after?: number | null;
  readonly is_error?: boolean;
  readonly error?: CallDetails;
  readonly result?: CallDetails;
  readonly content?: { readonly text?: string; readonly empty?: boolean }[];
  readonly structured_content?: unknown;
}

/** A call that failed, was refused, waits for a person or got no answer. */
export class FerruleError extends Error {
  override readonly name = "FerruleError";
  /** An error class of Ferrule, or `awaiting_approval`, `connection`, … */
  readonly code: string;
  readonly details: CallDetails;

  constructor(code: string, details: CallDetails, options?: ErrorOptions) {
    super(details.detail ?? details.message ?? code, options);
    this.code = code;
    this.details = details;
  }
}

/** Sends a request. Throws a `FerruleError` when the server refuses it. */
export async function send(
  options: ConnectionOptions,
  path: string,
  request: RequestInit,
): Promise<Response> {
  const url = options.url ?? process.env["FERRULE_URL"] ?? "";
  const token = options.token ?? process.env["FERRULE_TOKEN"] ?? "";
  if (url === "") {
    throw new Error("where is the server? set FERRULE_URL, or give url");
  }
  const address = new URL(url.replace(/(\/v1)?\/*$/, path));
  const headers = new Headers(request.headers);
  if (token !== "") {
    const { protocol, hostname } = address;
    const isSafe = protocol === "https:" || LOOPBACK.test(hostname);
    if (!isSafe && options.allowPlainHttp !== true) {
      throw new Error(`the token would go to ${hostname} unencrypted`);
    }
    headers.set("Authorization", `Bearer ${token}`);
  }
  const response = await fetch(address, { ...request, headers });
  if (!response.ok) {
    const details = (await response.json().catch(() => ({}))) as CallDetails;
    const code = details.error_class ?? details.code ?? `${response.status}`;
    throw new FerruleError(code, { ...details.result?.error, ...details });
  }
  return response;
}

/** The output of a call, which may be JSON in the words of a text. */
export function outputOf<Output>(
  details: CallDetails,
  parse: (value: unknown) => Output,
): Output {
  const { result } = details;
  if (result === undefined) {
    throw new FerruleError(details.state ?? "waiting", details);
  }
  const { content = [], error, structured_content: value = null } = result;
  if (result.is_error) {
    const code = error?.error_class ?? "execution_failed";
    throw new FerruleError(code, { ...result, ...error });
  }
  if (value !== null || content[0]?.empty) {
    return parse(value);
  }
  const text = content.map((block) => block.text ?? "").join("\n");
  try {
    return parse(text);
  } catch {
    return parse(JSON.parse(text));
  }
}

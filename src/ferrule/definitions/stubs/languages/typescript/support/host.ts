/** What is used of Node.js, so that no declarations of it are needed. */

/** Where bytes come from. */
export type Source = AsyncIterable<Uint8Array>;

/** Where text goes. */
export interface Sink {
  write(text: string, done?: () => void): unknown;
}

interface Process {
  readonly env: { readonly [name: string]: string | undefined };
  readonly stdin: Source;
  readonly stdout: Sink;
  readonly stderr: Sink;
  exit(code: number): never;
}

/** The process this runs in; null in a browser. */
export function hostProcess(): Process | null {
  return (globalThis as { process?: Process }).process ?? null;
}

/** An environment variable; empty where it is not set. */
export function environment(name: string): string {
  return hostProcess()?.env[name] ?? "";
}

/** What a promise gives, if it does so in time. */
export async function within<Value>(
  seconds: number,
  promise: Promise<Value>,
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`it took more than ${seconds} seconds`));
    }, seconds * 1000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// Calls a server that never answers, gives up, and has nothing more to do.
import { pathToFileURL } from "node:url";

const { FerruleClient } = await import(pathToFileURL(`${process.argv[2]}/client.js`).href);

const definition = { name: "t", digest: "", parseOutput: (value) => value };
const signal = AbortSignal.timeout(100);
try {
  await new FerruleClient({ url: process.argv[3] }).call(definition, {}, { signal });
} catch (error) {
  console.log(error.name);
}

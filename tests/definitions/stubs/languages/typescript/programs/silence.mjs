// Calls a server that never answers, gives up, and has nothing more to do.
import { pathToFileURL } from "node:url";

const { FerruleClient } = await import(
  pathToFileURL(`${process.argv[2]}/client.js`).href
);
const { Definition } = await import(
  pathToFileURL(`${process.argv[2]}/definition.js`).href
);

const words = { name: "t", title: "", description: "", tags: [], digest: "" };
const definition = new Definition({ ...words, input: "{}", output: null });
const aborting = new AbortController();
setTimeout(() => aborting.abort("enough"), 100);
try {
  const client = new FerruleClient({ url: process.argv[3] });
  await client.call(definition, {}, { signal: aborting.signal });
} catch (error) {
  console.log(error.name);
}

// Reads a case a line: {"output": SCHEMA or null, "result": TEXT}. Says what a call gives whose result is that text.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { FerruleClient } = await import(
  pathToFileURL(`${process.argv[2]}/client.js`).href
);
const { Definition } = await import(
  pathToFileURL(`${process.argv[2]}/definition.js`).href
);

for await (const line of createInterface({ input: process.stdin })) {
  const { output, result } = JSON.parse(line);
  const words = { name: "t", title: "", description: "", tags: [], digest: "" };
  const definition = new Definition({ ...words, input: "{}", output });
  const event = `event: result\ndata: {"result":${result}}\n\n`;
  const client = new FerruleClient({
    url: "http://127.0.0.1:9",
    fetch: async () => new Response(event),
  });
  let told;
  try {
    told = { value: await client.call(definition, {}), error: null };
  } catch (error) {
    told = { value: null, error: `${error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
}

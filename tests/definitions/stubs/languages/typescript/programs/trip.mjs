// Reads a question a line: {"stem", "text"}. Decodes the text as the input of the tool and encodes it again.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const known = new Map();

async function definitionOf(stem) {
  if (!known.has(stem)) {
    const path = `${process.argv[2]}/tools/generated/${stem}.js`;
    known.set(stem, (await import(pathToFileURL(path).href)).definition);
  }
  return known.get(stem);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { stem, text } = JSON.parse(line);
  const definition = await definitionOf(stem);
  let answer;
  try {
    const value = definition.encodeInput(definition.decodeInput(text));
    answer = { value, error: null };
  } catch (error) {
    answer = { value: null, error: `${error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

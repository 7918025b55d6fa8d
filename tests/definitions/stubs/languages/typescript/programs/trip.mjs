// Parses and writes values: lines {variable, stem, side, text} in, {value, error} out. The argument: the folder of definitions.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
for await (const line of createInterface({ input: process.stdin })) {
  const { variable, stem, text } = JSON.parse(line);
  const url = pathToFileURL(`${folder}/tools/generated/${stem}.js`);
  const definition = (await import(url))[`${variable}Definition`];
  let answer;
  try {
    answer = { value: JSON.stringify(definition.parseInput(JSON.parse(text))), error: null };
  } catch (error) {
    answer = { value: null, error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

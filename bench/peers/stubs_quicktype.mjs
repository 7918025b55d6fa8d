// quicktype: schemas into types, in one process, by the library.
//
// node stubs_quicktype.mjs time SCHEMAS.json LANG         prints the time it took as JSON
// node stubs_quicktype.mjs write SCHEMAS.json LANG OUT    writes a file each
import { FetchingJSONSchemaStore, InputData, JSONSchemaInput, quicktype } from "quicktype-core";
import fs from "node:fs";
import path from "node:path";

const [mode, file, lang, out] = process.argv.slice(2);
const endings = { python: "py", javascript: "mjs", go: "go", rust: "rs", typescript: "ts" };

async function written(schema) {
  const source = new JSONSchemaInput(new FetchingJSONSchemaStore());
  await source.addSource({ name: "Root", schema });
  const inputData = new InputData();
  inputData.addInput(source);
  const rendererOptions = lang === "python" ? { "python-version": "3.7" } : {};
  return (await quicktype({ inputData, lang, rendererOptions })).lines.join("\n");
}

const schemas = Object.entries(JSON.parse(fs.readFileSync(file, "utf8"))).map(([name, schema]) => [
  name,
  JSON.stringify(schema),
]);
if (mode === "time") {
  const began = performance.now();
  const cpu = process.cpuUsage();
  for (const [, schema] of schemas) await written(schema);
  const used = process.cpuUsage(cpu);
  console.log(
    JSON.stringify({
      wall: (performance.now() - began) / 1000,
      cpu: (used.user + used.system) / 1e6,
      tools: schemas.length,
    }),
  );
} else {
  for (const [name, schema] of schemas) {
    try {
      fs.writeFileSync(path.join(out, `${name}.${endings[lang]}`), await written(schema));
    } catch (mishap) {
      fs.writeFileSync(path.join(out, `${name}.error`), String(mishap));
    }
  }
}

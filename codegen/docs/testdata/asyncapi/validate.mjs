// Reads AsyncAPI documents, one a line, and writes for each what is wrong with it:
// by the schema of AsyncAPI 3.0, and of each example by the schema of its payload.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import Ajv from "ajv";

// Examples of secrets are ***, which need not keep the constraints.
function relax(value) {
  if (Object(value) !== value) return value;
  if (value["x-secret"]) for (const key of ["pattern", "format", "minLength", "maxLength"]) delete value[key];
  Object.values(value).forEach(relax);
  return value;
}

const path = new URL("node_modules/@asyncapi/specs/schemas/3.0.0-without-$id.json", import.meta.url);
const official = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(JSON.parse(readFileSync(path, "utf8")));

for await (const line of createInterface({ input: process.stdin })) {
  const document = JSON.parse(line);
  const problems = [];
  if (!official(document)) problems.push(...official.errors.map((e) => `${e.instancePath}: ${e.message}`));
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema(relax(document), "doc");
  for (const [channel, { messages }] of Object.entries(document.channels)) {
    for (const [name, message] of Object.entries(messages)) {
      const check = ajv.getSchema(`doc#/channels/${channel}/messages/${encodeURIComponent(name)}/payload`);
      for (const { payload } of message.examples ?? []) {
        if (!check(payload)) problems.push(...check.errors.map((e) => `${name}${e.instancePath}: ${e.message}`));
      }
    }
  }
  console.log(JSON.stringify(problems));
}

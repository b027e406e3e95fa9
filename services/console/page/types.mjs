// Writes the types of what the service answers: node types.mjs OPENAPI.json FILE. The description is that of a running service
// (GET /openapi.json); the types are those that the page uses, and what they refer to.
import { readFileSync, writeFileSync } from "node:fs";

/** Operations whose answers the page uses. */
const USED = ["configuration", "evaluation", "forgetItem", "item", "items", "modelFeatures", "models", "page", "promote", "rank", "recommend", "requests", "status", "train"];

const [from, into] = process.argv.slice(2);
const { paths, components } = JSON.parse(readFileSync(from, "utf8"));
const written = new Map();

/** A schema as a type of TypeScript. */
function type(schema, indent = "") {
  if (schema === true || Object.keys(schema).length === 0) return "unknown";
  const { $ref, anyOf, oneOf, allOf } = schema;
  if ($ref) return named($ref.split("/").at(-1));
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const kinds = [schema.type ?? []].flat();
  const rest = [];
  if (kinds.includes("array")) rest.push(`${wrapped(type(schema.items ?? true, indent))}[]`);
  if (kinds.includes("object") || schema.properties) rest.push(object(schema, indent));
  else if (anyOf || oneOf) rest.push(...(anyOf ?? oneOf).map((one) => type(one, indent)));
  else if (allOf) return allOf.map((one) => type(one, indent)).join(" & ");
  for (const kind of kinds) if (SIMPLE[kind]) rest.push(SIMPLE[kind]);
  return [...new Set(rest)].join(" | ") || "unknown";
}

const SIMPLE = { string: "string", number: "number", integer: "number", boolean: "boolean", null: "null" };

const wrapped = (type) => (type.includes(" | ") ? `(${type})` : type);

/** An object; keys that only one of several forms has are optional. */
function object(schema, indent) {
  const deref = (form) => (form.$ref ? [components.schemas[form.$ref.split("/").at(-1)]] : []);
  const alternatives = (schema.oneOf ?? schema.anyOf ?? []).map((form) => [form, ...deref(form)]);
  const forms = [schema, ...alternatives.flat()];
  const keys = new Map();
  for (const form of forms)
    for (const [key, value] of Object.entries(form.properties ?? {})) {
      const types = keys.get(key)?.types ?? new Set();
      const comment = value === true ? undefined : value.description;
      keys.set(key, { types: types.add(type(value, `${indent}  `)), comment: keys.get(key)?.comment ?? comment });
    }
  const others = schema.additionalProperties;
  if (keys.size === 0) return `Record<string, ${others && others !== true ? type(others, indent) : "unknown"}>`;
  const always = (key) => schema.required?.includes(key) || (alternatives.length > 0 && alternatives.every((parts) => parts.some(({ required }) => required?.includes(key))));
  const lines = [...keys].map(([key, { types, comment }]) => {
    const told = comment ? `${indent}  /** ${comment.replaceAll("\n", " ")} */\n` : "";
    // an answer has no key in place of null where the key may be missing
    const value = always(key) ? [...types].join(" | ") : [...types].join(" | ").replace(/ \| null$/, "");
    return `${told}${indent}  ${key}${always(key) ? "" : "?"}: ${value};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

/** The name of a type, which is written as well. */
function named(name) {
  if (written.has(name)) return name;
  written.set(name, "");
  const schema = components.schemas[name];
  const told = schema.description ? `/** ${schema.description.replaceAll("\n", " ")} */\n` : "";
  written.set(name, `${told}export type ${name} = ${type(schema)};\n`);
  return name;
}

const operations = new Map(Object.values(paths).flatMap(Object.values).map((operation) => [operation.operationId, operation]));
for (const id of USED) type(operations.get(id).responses["200"].content["application/json"].schema);
const text = [...written].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
writeFileSync(into, ["// Written by types.mjs from /openapi.json.\n", ...text].join("\n"));

// Asking the service. The page uses documented endpoints alone, and shows a view where its endpoint is there.

import { signal } from "@preact/signals";
import { exact } from "./text";
import type { ItemFields, Page } from "./types";

const TOKEN = "rankwright.token";
/** The request of the sample that was looked at last, for when the service keeps it no longer. */
const REQUEST = "rankwright.request";

/** Told apart from other mistakes by its status; the message is the service's own. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** The place in the body. */
    readonly place: string | null = null,
  ) {
    super(message);
  }
}

export const page = signal<Page | null>(null);
/** `GET /status`, `POST /rank/{model}` and so on, as /openapi.json lists them. */
export const endpoints = signal<ReadonlySet<string>>(new Set());
/** Why an answer was refused for want of the token; empty where none was. */
export const tokenWanted = signal("");
/** Goes up when another token is there, so that views ask again. */
export const login = signal(0);

export const has = (endpoint: string) => endpoints.value.has(endpoint);

export function setToken(token: string) {
  if (token) sessionStorage.setItem(TOKEN, token);
  else sessionStorage.removeItem(TOKEN);
  keep(null); // another token may not see it
  tokenWanted.value = "";
  login.value++;
}

export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

/** Keeps the request of the sample that is looked at, also for a reload of this tab; null removes it. */
export function keep(request: string | null) {
  sessionStorage.removeItem(REQUEST);
  if (request === null) return;
  try {
    sessionStorage.setItem(REQUEST, request);
  } catch {} // there is no room
}

export const kept = () => sessionStorage.getItem(REQUEST);

export interface Call {
  method: string;
  path: string;
  body?: unknown;
}

export const get = (path: string): Call => ({ method: "GET", path });
export const post = (path: string, body?: unknown): Call => ({ method: "POST", path, body });
/** A part of a path. */
export const part = encodeURIComponent;

export async function ask<T>({ method, path, body }: Call): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json" };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Failure(0, "The service does not answer. It may have stopped, or the network is down.");
  }
  const text = await response.text();
  if (response.ok) return (text ? JSON.parse(text) : null) as T;
  const refused = failure(response.status, text);
  if (refused.status === 401) tokenWanted.value = refused.message;
  throw refused;
}

function failure(status: number, text: string): Failure {
  try {
    const { message, path } = JSON.parse(text).error;
    return new Failure(status, sentence(String(message)), path ?? null);
  } catch {
    return new Failure(status, `The service answered with status ${status}.`);
  }
}

/** Messages of the service are lower case without a full stop. */
export function sentence(message: string): string {
  const text = message.trim();
  if (!text) return text;
  const begun = /^[a-z]+(\s|$)/.test(text) ? text[0]!.toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

export async function start() {
  const described = await ask<{ paths: Record<string, Record<string, unknown>> }>(get("/openapi.json"));
  const found = new Set<string>();
  for (const [path, methods] of Object.entries(described.paths)) {
    for (const method of Object.keys(methods)) found.add(`${method.toUpperCase()} ${path}`);
  }
  endpoints.value = found;
  page.value = await ask<Page>(get("/page"));
}

/** The same call for a shell. */
export function curl({ method, path, body }: Call): string {
  const words = ["curl -s"];
  if (method !== "GET" && method !== "POST") words.push(`-X ${method}`);
  if (hasToken() || page.value?.tokenNeeded) words.push('-H "Authorization: Bearer $RANKWRIGHT_API_TOKEN"');
  if (body !== undefined) words.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  else if (method === "POST") words.push("-X POST");
  words.push(quoted(location.origin + path));
  return words.join(" ");
}

/** A field may be of any kind. */
const told = (value: unknown) => (value === null || value === undefined || value === "" ? null : exact(value));

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Parameters of a query, each with its value; those without one are left out. */
export function query(parameters: [string, string | null | undefined][]): string {
  const given = parameters.filter(([, value]) => value);
  return given.length === 0 ? "" : `?${given.map(([name, value]) => `${name}=${part(value!)}`).join("&")}`;
}

const CHUNK = 200; // ids of one call, which stand in its path
const LONGEST = 32 * 1024; // characters of these ids there, encoded; the service takes heads of 64 KiB

/** Ids that one call asks for, and so on. */
function chunks(ids: string[]): string[][] {
  const chunks: string[][] = [];
  let left = 0;
  for (const id of ids) {
    const length = `&id=${part(id)}`.length;
    const last = chunks.at(-1);
    if (last && last.length < CHUNK && length <= left) last.push(id);
    else {
      chunks.push([id]);
      left = LONGEST;
    }
    left -= length;
  }
  return chunks;
}

/** What `api.page.item` names of these items; an item of which nothing is stored is left out. */
export async function itemFields(ids: string[], tenant?: string | null): Promise<Record<string, ItemFields>> {
  if (!has("GET /items")) return {};
  const asked = chunks(ids).map((ids) =>
    ask<{ items: Record<string, Record<keyof ItemFields, unknown>> }>(get(`/items${query([["tenant", tenant], ...ids.map((id): [string, string] => ["id", id])])}`)).catch(() => ({ items: {} })),
  );
  const found = (await Promise.all(asked)).flatMap(({ items }) => Object.entries(items));
  return Object.fromEntries(found.map(([id, { title, price, image }]) => [id, { title: told(title), price: told(price), image: told(image) }]));
}

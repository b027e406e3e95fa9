// Numbers, times and kinds in words.

import { mistake } from "./json";
import type { ModelPurpose } from "./types";

const WHOLE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const FINE = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 4 });

export const whole = (value: number) => WHOLE.format(value);

/** A number as people read it: four digits that matter. */
export function number(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 10000) return WHOLE.format(value);
  return value !== 0 && Math.abs(value) < 0.0001 ? value.toExponential(2) : FINE.format(value);
}

/** A part of a whole; nothing of it is told from very little. */
export const percent = (share?: number) => (share === undefined ? "–" : share === 0 ? "0 %" : `${(share * 100).toFixed(1)} %`);

export const signed = (value: number) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

export function count(value: number, one: string, many = `${one}s`): string {
  return `${whole(value)} ${value === 1 ? one : many}`;
}

export function bytes(value: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

export function duration(seconds: number): string {
  if (seconds < 1) return "less than a second";
  if (seconds < 60) return count(Math.floor(seconds), "second");
  if (seconds < 3600) return count(Math.floor(seconds / 60), "minute");
  if (seconds < 2 * 86400) return count(Math.floor(seconds / 3600), "hour");
  return count(Math.floor(seconds / 86400), "day");
}

export const ago = (time: number, now: number) => (now - time < 5000 ? "just now" : `${duration((now - time) / 1000)} ago`);

/** A point in time, in UTC as everywhere in the service. */
export const moment = (time: number) => {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "unknown time" : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
};

/** Milliseconds since 1970 of a request's timestamp: these themselves, or ISO 8601, which may end with the name of a zone. */
export function millis(timestamp: string | number): number {
  const text = String(timestamp);
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Date.parse(text.replace(/\[.*$/, ""));
}

/** Whether a model orders lists. */
export const ordersLists = ({ purpose }: { purpose: ModelPurpose }) => purpose === "order" || purpose === "learnedOrder";

/** What a type of model is for, in words. */
export function purpose(type: string): string {
  const known: Record<string, string> = {
    lambdamart: "orders lists",
    shuffle: "shuffles lists",
    noop: "keeps lists as they are",
    trending: "recommends what is popular",
    als: "recommends similar items, by visitors",
    semantic: "recommends similar items, by their texts",
  };
  return known[type] ?? type;
}

/** Reads what is typed: a JSON request, or ids of items alone. */
export function written(text: string, time: string | number): unknown {
  const trimmed = text.trim();
  if (!trimmed) throw new Error("There is nothing here yet. Paste a request, or ids of items.");
  if (!/^[{[]/.test(trimmed)) {
    return { id: "try", timestamp: String(time), items: trimmed.split(/[\s,;]+/).filter(Boolean).map((id) => ({ id })) };
  }
  const wrong = mistake(trimmed);
  if (wrong) throw new Error(`This is not JSON yet. ${wrong}`);
  let value: unknown = JSON.parse(trimmed);
  if (Array.isArray(value)) value = { items: value };
  const request = { id: "try", timestamp: String(time), ...(value as object) } as { items?: unknown };
  if (!Array.isArray(request.items) || request.items.length === 0)
    throw new Error('The request needs "items": a list with at least one item, such as [{"id": "p1"}].');
  request.items = request.items.map((item) => (typeof item === "object" ? item : { id: String(item) }));
  return request;
}

/** A feature's value; missing ones are told. The columns of a list may have names. */
export function values(value: unknown, names: string[] = [], told: (value: number) => string = number): string {
  if (value === null || value === undefined) return "missing";
  if (typeof value === "number") return told(value);
  if (Array.isArray(value)) {
    if (value.length === 0) return "empty";
    const named = names.length === value.length ? names : [];
    return value.map((one, at) => `${named[at] === undefined ? "" : `${named[at]}: `}${values(one, [], told)}`).join(", ");
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A value with all its digits. */
export const exact = (value: unknown, names?: string[]) => values(value, names, String);

export const isMissing = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length > 0 && value.every(isMissing));

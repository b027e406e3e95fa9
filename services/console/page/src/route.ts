// The state of the page is in the fragment of its address: a reload or a shared link shows the same.

import { signal } from "@preact/signals";

export interface Route {
  view: string;
  params: Record<string, string>;
}

export const route = signal(parse(location.hash));

addEventListener("hashchange", () => {
  clearTimeout(writing);
  route.value = parse(location.hash);
});

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path, params: Object.fromEntries(new URLSearchParams(query)) };
}

export function href(view: string, params: Record<string, string | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) query.set(name, value);
  const text = query.toString();
  return `#/${view}${text && `?${text}`}`;
}

const CALM = 150; // milliseconds
let writing: ReturnType<typeof setTimeout> | undefined;

/** Changes some parameters; an empty one goes away. A step that is not worth a place in the history replaces the last one. */
export function change(params: Record<string, string | undefined>, replace = false) {
  const next = href(route.value.view, { ...route.value.params, ...params });
  clearTimeout(writing);
  if (replace) {
    route.value = parse(next);
    const last = location.hash;
    // browsers refuse an address that changes with each repetition of a key; one that another link has changed meanwhile stays
    writing = setTimeout(() => location.hash === last && history.replaceState(null, "", next), CALM);
  } else location.hash = next;
}

/** Text as a parameter: compressed, so that a long request fits. */
export async function packed(text: string): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function unpacked(param: string): Promise<string> {
  const binary = atob(param.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const result = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(result).arrayBuffer());
}

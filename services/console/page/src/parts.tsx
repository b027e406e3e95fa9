// What views are made of.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Call, curl, Failure, hasToken, itemFields, login, setToken } from "./api";
import { change, route } from "./route";
import type { ItemFields } from "./types";

export interface Answer<T> {
  data: T | null;
  error: Failure | null;
  loading: boolean;
}

/**
 * Asks when the key changes, which names what is asked for: no answer stands under another key. In another round it asks for the
 * same once more, and what was there stays until then. An empty key asks for nothing.
 */
export function useAnswer<T>(key: string, fetch: () => Promise<T>, round: string | number = 0): Answer<T> {
  const [answer, set] = useState<Answer<T> & { key: string }>({ data: null, error: null, loading: key !== "", key });
  const session = login.value;
  useEffect(() => {
    if (!key) return set({ data: null, error: null, loading: false, key });
    let wanted = true;
    set((last) => ({ data: last.key === key ? last.data : null, error: null, loading: true, key }));
    fetch().then(
      (data) => wanted && set({ data, error: null, loading: false, key }),
      (error) => wanted && set({ data: null, error: failure(error), loading: false, key }),
    );
    return () => {
      wanted = false;
    };
  }, [key, round, session]);
  return answer.key === key ? answer : { data: null, error: null, loading: key !== "" };
}

const NO_FIELDS: Record<string, ItemFields> = {};

/** Titles, prices and pictures of items; those that were there before stay, too, while others are asked for. */
export function useFields(ids: string[], tenant?: string | null): Record<string, ItemFields> {
  return useAnswer(ids.length ? `items of ${tenant ?? ""}` : "", () => itemFields(ids, tenant), JSON.stringify(ids)).data ?? NO_FIELDS;
}

export const failure = (error: unknown) => (error instanceof Failure ? error : new Failure(0, (error as Error).message));

/** The present time, for ages; it goes on while the view is seen. */
export function useNow(every = 5000): number {
  const [now, set] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || set(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** Buttons of which one is chosen, by its place. */
export function Which({ label, names, chosen, choose }: { label: string; names: string[]; chosen: number; choose: (at: number) => void }) {
  return (
    <div class="which" role="group" aria-label={label}>
      {names.map((name, at) => (
        <button type="button" key={name} aria-pressed={at === chosen} onClick={() => choose(at)}>
          <bdi>{name}</bdi>
        </button>
      ))}
    </div>
  );
}

export function Problem({ error, children }: { error: Failure; children?: ComponentChildren }) {
  if (error.status === 401) return <p class="quiet">This part needs the service's token: enter it above.</p>;
  return (
    <div class="note bad" role="alert">
      {error.place && <code>{error.place}</code>} {error.message} {children}
    </div>
  );
}

/** Asks for the token of the service. */
export function Login() {
  const field = useRef<HTMLInputElement>(null);
  return (
    <form
      class="note login"
      onSubmit={(event) => {
        event.preventDefault();
        setToken(field.current?.value.trim() ?? "");
      }}
    >
      <label>
        Requests, stored values and changes need the service's token: <code>api.token</code> of its configuration.
        <input ref={field} type="password" name="token" autocomplete="off" required />
      </label>
      <button type="submit">Use it</button>
      <small>
        {hasToken() && "The service does not take the token that this tab has. "}The token stays in this tab until you close it.
      </small>
    </form>
  );
}

export const Loading = () => <p class="quiet">Loading…</p>;

/** Copies a call as a command of curl; where the browser does not allow it, shows it. */
export function Curl({ call, label = "Copy as curl" }: { call: Call; label?: string }) {
  const [said, say] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(curl(call));
      say("Copied");
      setTimeout(() => say(""), 2000);
    } catch {
      say(curl(call));
    }
  };
  const shown = said !== "" && said !== "Copied";
  return (
    <>
      <button type="button" class="plain" onClick={copy}>
        {said === "Copied" ? "Copied" : label}
      </button>
      {shown && <textarea class="curl" readonly rows={3} value={said} aria-label="The command" onFocus={(event) => event.currentTarget.select()} />}
    </>
  );
}

export type Cell = string | number | null | undefined;

/** A value for a file: a number as it is, a list as JSON. */
export const cell = (value: unknown): Cell =>
  value === null || value === undefined || typeof value === "number" || typeof value === "string" ? value : JSON.stringify(value);

function csv(rows: Cell[][]): string {
  const written = (value: Cell) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value; // a spreadsheet would compute it
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(written).join(",")).join("\n") + "\n";
}

/** Saves numbers of a view as a file. */
export function Download({ name, rows, json }: { name: string; rows?: () => Cell[][]; json?: () => unknown }) {
  const save = (text: string, kind: string) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind === "csv" ? "text/csv" : "application/json" }));
    link.download = `${name}.${kind}`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <>
      {rows && (
        <button type="button" class="plain" onClick={() => save(csv(rows()), "csv")}>
          Download CSV
        </button>
      )}
      {json && (
        <button type="button" class="plain" onClick={() => save(JSON.stringify(json(), null, 2), "json")}>
          Download JSON
        </button>
      )}
    </>
  );
}

/** Asks once more before something changes. */
export function Sure({ label, question, run, danger }: { label: string; question: string; run: () => void; danger?: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button type="button" class={danger ? "danger" : ""} onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <dialog ref={dialog} aria-label={label}>
        <p>{question}</p>
        <form method="dialog">
          <button type="submit" onClick={run} class={danger ? "danger" : "main"}>
            {label}
          </button>
          <button type="submit" autofocus={danger}>
            Cancel
          </button>
        </form>
      </dialog>
    </>
  );
}

/** Whose items and visitors are meant; most shops have one tenant. */
export function Tenant({ value, onChange }: { value?: string; onChange?: (value: string) => void }) {
  return (
    <label title="Of a service that several shops share: which one is meant">
      Tenant
      <input key={value} class="tenant" name="tenant" defaultValue={value ?? ""} placeholder="default" onChange={({ currentTarget: { value } }) => onChange?.(value.trim())} />
    </label>
  );
}

/** Whether a view shows all of a list; `of` says of which one. */
export const showsAll = (of = "1") => route.value.params.all === of;

/** Shows all of a list, or its beginning; the address has it. */
export function All({ of = "1", more, less = "Show the largest" }: { of?: string; more: string; less?: string }) {
  const all = showsAll(of);
  return (
    <button type="button" class="plain" aria-expanded={all} onClick={() => change({ all: all ? undefined : of }, true)}>
      {all ? less : more}
    </button>
  );
}

/** A name that breaks after underscores and dots first. */
export const broken = (name: string) => name.split(/(?<=[_.])/).flatMap((part) => [part, <wbr />]);

/** A part of a whole as a bar, up to 1. */
export function Bar({ share }: { share: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <span style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }} />
    </span>
  );
}

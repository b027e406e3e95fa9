// Choosing a request and the models that order it.

import { useRef, useState } from "preact/hooks";
import { ask, has, part, page, post, sentence } from "../api";
import { type Answer, failure, Problem } from "../parts";
import { change, route } from "../route";
import { ago, count, moment, written } from "../text";
import type { Field, RecommendAnswer, Sampled, Status } from "../types";
import { type Chosen, isGone, show } from "./chosen";

interface Props {
  sample: Answer<Sampled[]>;
  chosen: Chosen | null;
  models: string[];
  first: string;
  other: string;
  status: Status;
  /** Asks for the sample once more. */
  look: () => void;
}

export function Chooser({ sample, chosen, models, first, other, status, look }: Props) {
  const [open, setOpen] = useState(false);
  const known = sample.data ?? [];
  const nothing = !chosen && (sample.data !== null || !sample.loading) && known.length === 0 && !route.value.params.written;
  const writes = open || nothing;
  return (
    <section class="chooser" aria-label="Request and models">
      <div class="row">
        {known.length > 0 && (
          <label class="grow">
            Request
            <select
              name="request"
              value={route.value.params.written ? "" : String(chosen?.number ?? "")}
              onFocus={look}
              onChange={({ currentTarget: { value } }) => value && (setOpen(false), change({ request: value, written: undefined, item: undefined, evaluated: undefined }))}
            >
              {route.value.params.written && <option value="">your own request</option>}
              {!route.value.params.written && !chosen && <option value="">choose one</option>}
              {chosen && isGone(chosen) && <option value="">{told(chosen.sampled!)}, no longer kept</option>}
              {known.filter(({ relevant }) => !relevant).map(option)}
              {known.some(({ relevant }) => relevant) && <optgroup label="Lists that the last evaluation found worst">{known.filter(({ relevant }) => relevant).map(option)}</optgroup>}
            </select>
          </label>
        )}
        <Model label="Model" name="model" value={first} models={models} />
        {models.length > 1 && <Model label="Compare with" name="other" value={other} models={models.filter((name) => name !== first)} none />}
        <button type="button" aria-expanded={writes} onClick={() => setOpen(!open)} disabled={nothing}>
          {chosen ? "Change the request" : "Write a request"}
        </button>
      </div>
      {sample.error && <Problem error={sample.error} />}
      {nothing && !sample.error && (
        <p class="quiet">
          {page.value?.sample && has("GET /requests")
            ? "No ranking has been asked for yet. As soon as your shop sends requests, the newest ones are here to choose from."
            : "This service keeps no requests to choose from (api.page.sample)."}{" "}
          Until then, write one.
        </p>
      )}
      {writes && <Editor key={route.value.params.written ?? chosen?.sampled?.number} chosen={chosen} time={chosen?.request.timestamp ?? known[0]?.request.timestamp ?? Date.now()} status={status} done={() => setOpen(false)} />}
      {!writes && chosen && <Context chosen={chosen} />}
    </section>
  );
}

const option = (sampled: Sampled) => (
  <option key={sampled.number} value={String(sampled.number)}>
    {told(sampled)}
  </option>
);

function Model({ label, name, value, models, none }: { label: string; name: string; value: string; models: string[]; none?: boolean }) {
  return (
    <label>
      {label}
      <select name={name} value={value || "none"} onChange={({ currentTarget: { value } }) => change({ [name]: value, ...(none ? {} : { evaluated: undefined }) })}>
        {none && <option value="none">no other model</option>}
        {models.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

const MOST = 60; // characters of an option

function told({ time, model, items, fallback, request }: Sampled): string {
  const query = (request.fields ?? []).find(({ name }) => name === "query");
  const about = query ? `“${String(query.value)}”, ` : "";
  return `${shortened(about)}${count(items, "item")}, ${model}, ${moment(time)}${fallback ? ", kept its order" : ""}`;
}

const shortened = (text: string) => (text.length > MOST ? `${text.slice(0, MOST)}…, ` : text);

/** What a request says beside its items. */
function Context({ chosen: { request, sampled } }: { chosen: Chosen }) {
  const fields: Field[] = request.fields ?? [];
  const people = [
    { name: "visitor", value: request.user },
    { name: "visit", value: request.session },
    { name: "tenant", value: request.tenant },
  ].filter(({ value }) => value);
  return (
    <p class="context">
      {sampled && !sampled.relevant && <span>asked {ago(sampled.time, Date.now())}</span>}
      {sampled?.relevant && <span>shown {ago(sampled.time, Date.now())}, ordered by values of today: the evaluation took those of then</span>}
      {[...people, ...fields].map(({ name, value }) => (
        <span key={name} title={text(value)}>
          {name} <bdi>{text(value)}</bdi>
        </span>
      ))}
    </p>
  );
}

const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

const POPULAR = 24; // items of a request that is made of them

function Editor({ chosen, time, status, done }: { chosen: Chosen | null; time: string | number; status: Status; done: () => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [error, fail] = useState<Error | null>(null);
  const popular = has("POST /recommend/{model}") ? Object.entries(status.models).find(([, { purpose, state }]) => purpose === "popular" && state === "loaded")?.[0] : undefined;

  const submit = async () => {
    try {
      await show(written(field.current!.value, time));
      fail(null);
      done();
    } catch (error) {
      fail(error as Error);
      field.current?.focus();
    }
  };
  const fill = async () => {
    try {
      const { items } = await ask<RecommendAnswer>(post(`/recommend/${part(popular!)}`, { count: POPULAR }));
      field.current!.value = JSON.stringify({ id: "try", timestamp: String(time), items: items.map(({ item }) => ({ id: item })) }, null, 2);
      await submit();
    } catch (error) {
      fail(failure(error));
    }
  };
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label>
        A request as JSON, or only ids of items
        <textarea
          ref={field}
          rows={10}
          spellcheck={false}
          name="written"
          defaultValue={chosen ? JSON.stringify(chosen.request, null, 2) : ""}
          placeholder={'p1, p2, p3\n\nor\n\n{"id": "r1", "timestamp": "1636993834000", "user": "u1", "session": "s1",\n "fields": [{"name": "query", "value": "shoes"}],\n "items": [{"id": "p1"}, {"id": "p2"}]}'}
          aria-invalid={error !== null}
          aria-describedby={error ? "editor-error" : undefined}
          onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && (event.preventDefault(), void submit())}
        />
      </label>
      {error && (
        <p id="editor-error" class="note bad" role="alert">
          {sentence(error.message)}
        </p>
      )}
      <p class="tools">
        <button type="submit" class="main">
          Rank it
        </button>
        {popular && (
          <button type="button" onClick={fill}>
            Take the {POPULAR} most popular items
          </button>
        )}
        {chosen?.number != null && !page.value?.showIds && <small>Ids of visitors are hidden here, so a changed request goes without them.</small>}
      </p>
    </form>
  );
}

// Orders beside each other, with lines between equal items. All rows have one height, so that lines need no measuring.

import { Fragment } from "preact";
import { memo } from "preact/compat";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { page } from "../api";
import { places } from "../order";
import { Which } from "../parts";
import { change, route } from "../route";
import type { ItemFields, RankAnswer } from "../types";

export interface Column {
  name: string;
  /** Of the order as sent, none. */
  model: string | null;
  ids: string[];
  /** The same, with those that are there twice told apart. */
  items: string[];
  answer: RankAnswer | null;
}

type Pick = (item: string, model?: string | null) => void;

const GAP = 48; // pixels between two lists

interface ListsProps {
  columns: Column[];
  fields: Record<string, ItemFields>;
  /** What the visitor chose, where that is known. */
  relevant: ReadonlySet<string>;
  selected?: string;
  pick: Pick;
}

export function Lists({ columns, fields, relevant, selected, pick }: ListsProps) {
  const lists = useRef<HTMLDivElement>(null);
  const rich = page.value?.item != null;
  const height = rich ? 56 : 32;
  const before = useMemo(() => places(columns[0]!.items), [columns[0]!.items]);
  // which one a narrow window shows
  const shown = Math.min(Math.max(0, Math.floor(Number(route.value.params.list ?? 1)) || 0), columns.length - 1);
  const see = (at: number) => change({ list: String(at) }, true);

  /** Moves to the same item in the list beside this one. */
  const beside = (at: number) => {
    const target = Math.max(0, Math.min(columns.length - 1, at));
    see(target);
    const list = lists.current?.querySelectorAll<HTMLElement>("[role=listbox]")[target];
    list?.focus({ preventScroll: true });
    list?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  };

  return (
    <div class={rich ? "lists rich" : "lists"} ref={lists}>
      <Which label="List" names={columns.map(({ name }) => name)} chosen={shown} choose={see} />
      {columns.map((column, at) => (
        <Fragment key={column.name}>
          {at > 0 && <Lines left={columns[at - 1]!.items} right={column.items} height={height} selected={selected} />}
          <List column={column} at={at} shown={at === shown} before={before} fields={fields} relevant={relevant} rich={rich} height={height} selected={selected} pick={pick} beside={beside} />
        </Fragment>
      ))}
    </div>
  );
}

interface ListProps {
  column: Column;
  at: number;
  shown: boolean;
  before: Map<string, number>;
  fields: Record<string, ItemFields>;
  relevant: ReadonlySet<string>;
  rich: boolean;
  height: number;
  selected?: string;
  pick: Pick;
  beside: (at: number) => void;
}

function List({ column, at, shown, before, fields, relevant, rich, height, selected, pick, beside }: ListProps) {
  const { name, model, ids, items } = column;
  const list = useRef<HTMLUListElement>(null);
  const place = selected === undefined ? -1 : items.indexOf(selected);
  const id = (place: number) => `row-${at}-${place}`;

  const key = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -items.length, End: items.length };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const next = Math.max(0, Math.min(items.length - 1, place + step));
      pick(items[next]!, model);
      list.current?.children[next]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      event.preventDefault();
      beside(at + (event.key === "ArrowRight" ? 1 : -1));
    }
  };

  return (
    <section class={shown ? "list shown" : "list"}>
      <h2 title={name}>
        <bdi>{name}</bdi>
      </h2>
      <ul
        ref={list}
        role="listbox"
        aria-label={model ? `Order of ${name}` : "Order as sent"}
        tabIndex={0}
        aria-activedescendant={place < 0 ? undefined : id(place)}
        style={{ "--row": `${height}px` }}
        onKeyDown={key}
      >
        {items.map((item, place) => (
          <Row key={place} row={id(place)} id={ids[place]!} item={item} place={place} was={model ? before.get(item)! : place} fields={fields[ids[place]!]} relevant={relevant.has(ids[place]!)} rich={rich} selected={item === selected} pick={pick} model={model} />
        ))}
      </ul>
    </section>
  );
}

interface RowProps {
  row: string;
  id: string;
  item: string;
  place: number;
  was: number;
  fields?: ItemFields;
  relevant: boolean;
  rich: boolean;
  selected: boolean;
  model: string | null;
  pick: Pick;
}

const same = (a: RowProps, b: RowProps) =>
  a.row === b.row && a.id === b.id && a.item === b.item && a.place === b.place && a.was === b.was && a.fields === b.fields && a.relevant === b.relevant && a.rich === b.rich && a.selected === b.selected && a.model === b.model;

const Row = memo(({ row, id, item, place, was, fields, relevant, rich, selected, model, pick }: RowProps) => (
  <li id={row} role="option" data-item={id} aria-selected={selected} onClick={() => pick(item, model)}>
    <span class="place">{place + 1}</span>
    {rich && <Picture fields={fields} />}
    <span class="what">
      <bdi class="title">{fields?.title || id}</bdi>
      {rich && (
        <span class="quiet">
          {fields?.title ? <bdi>{id}</bdi> : "no title stored"}
          {fields?.price && (
            <>
              {" "}
              · <bdi>{fields.price}</bdi>
            </>
          )}
        </span>
      )}
    </span>
    {relevant && (
      <span class="relevant" title="the visitor chose it">
        <span aria-hidden="true">★</span>
        <span class="hidden">chosen </span>
      </span>
    )}
    <Moved place={place} was={was} />
  </li>
), same);

/** How far an item moved. */
function Moved({ place, was }: { place: number; was: number }) {
  if (was === place) return null;
  const [by, way] = was > place ? [was - place, "up"] : [place - was, "down"];
  return (
    <span class={`moved ${way}`} title={`${by} ${by === 1 ? "place" : "places"} ${way}: number ${was + 1} as sent`}>
      <span aria-hidden="true">{way === "up" ? "▲" : "▼"}</span>
      <span class="hidden">{way} </span>
      {by}
    </span>
  );
}

/** An item by its picture, title, id and price, as far as they are known. */
export function About({ item, fields }: { item: string; fields?: ItemFields }) {
  const { title, price } = fields ?? {};
  return (
    <div class="about">
      <Picture fields={fields} />
      <p>
        <bdi class="title">{title || item}</bdi>
        {title && (
          <span class="quiet">
            <bdi>{item}</bdi>
            {price && (
              <>
                {" "}
                · <bdi>{price}</bdi>
              </>
            )}
          </span>
        )}
      </p>
    </div>
  );
}

/** An item's picture, where it comes from an origin that the service allows; else a placeholder. */
function Picture({ fields }: { fields?: ItemFields }) {
  const image = fields?.image;
  const origins = page.value?.imageOrigins ?? [];
  const [broken, breaks] = useState(false);
  useEffect(() => breaks(false), [image]);
  if (!page.value?.item?.image) return null;
  return image && allowed(image, origins) && !broken ? <img class="picture" src={image} alt="" loading="lazy" onError={() => breaks(true)} /> : <span class="picture" aria-hidden="true" />;
}

/** Whether a picture comes from one of these origins, or with its own bytes. */
function allowed(image: string, origins: string[]): boolean {
  if (image.startsWith("data:image/")) return true;
  const origin = originOf(image);
  return origin !== null && origins.some((known) => known === "*" || originOf(known) === origin);
}

/** As browsers compare it: in lower case, without the usual port. */
function originOf(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : null;
  return url && /^https?:$/.test(url.protocol) ? url.origin : null;
}

/** Lines between equal items of two lists. */
const Lines = memo(({ left, right, height, selected }: { left: string[]; right: string[]; height: number; selected?: string }) => {
  const paths = useMemo(() => {
    const found = { up: "", down: "", same: "" };
    const targets = places(right);
    left.forEach((item, from) => {
      const to = targets.get(item);
      if (to !== undefined) found[to < from ? "up" : to > from ? "down" : "same"] += line(from, to, height);
    });
    return found;
  }, [left, right, height]);
  const [from, to] = selected === undefined ? [-1, -1] : [left.indexOf(selected), right.indexOf(selected)];
  return (
    <svg class="lines" width={GAP} height={Math.max(left.length, right.length) * height} aria-hidden="true">
      <path class="same" d={paths.same} />
      <path class="down" d={paths.down} />
      <path class="up" d={paths.up} />
      {from >= 0 && to >= 0 && <path class={`chosen ${to < from ? "up" : to > from ? "down" : "same"}`} d={line(from, to, height)} />}
    </svg>
  );
});

function line(from: number, to: number, height: number): string {
  const [start, end] = [(from + 0.5) * height, (to + 0.5) * height];
  return `M0,${start}C${GAP / 2},${start} ${GAP / 2},${end} ${GAP},${end}`;
}

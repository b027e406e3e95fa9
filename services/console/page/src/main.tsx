// The page of a running service.

import { render, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Failure, has, hasToken, login, page, setToken, start, tokenWanted } from "./api";
import { failure, Loading, Login, Problem } from "./parts";
import { href, route } from "./route";
import "./style.css";
import { Configuration } from "./views/configuration";
import { Evaluation } from "./views/evaluation";
import { Features } from "./views/features";
import { LookUp } from "./views/look-up";
import { Models } from "./views/models";
import { Overview } from "./views/overview";
import { Recommend } from "./views/recommend";
import { Try } from "./views/try";

interface View {
  name: string;
  title: string;
  /** The view is there where the service has this. */
  endpoint: string;
  show: () => JSX.Element;
}

const VIEWS: View[] = [
  { name: "", title: "Overview", endpoint: "GET /status", show: Overview },
  { name: "try", title: "Try a ranking", endpoint: "POST /rank/{model}", show: Try },
  { name: "recommend", title: "Recommendations", endpoint: "POST /recommend/{model}", show: Recommend },
  { name: "features", title: "Features", endpoint: "GET /models/{name}/features", show: Features },
  { name: "models", title: "Models", endpoint: "GET /models", show: Models },
  { name: "evaluation", title: "Evaluation", endpoint: "GET /evaluation", show: Evaluation },
  { name: "look-up", title: "Look up", endpoint: "GET /items/{id}", show: LookUp },
  { name: "configuration", title: "Configuration", endpoint: "GET /configuration", show: Configuration },
];

const AGAIN = 3000; // milliseconds until a service that does not answer, or not all of it, is asked again

/** Whether the service waits for something: it has its status alone then. */
const waits = () => !has("POST /rank/{model}");

function App() {
  const [error, fail] = useState<Failure | null>(null);
  const session = login.value;
  useEffect(() => {
    let again: ReturnType<typeof setTimeout>;
    const begin = () =>
      void start().then(
        () => {
          fail(null);
          if (waits()) again = setTimeout(begin, AGAIN);
        },
        (error) => {
          fail(failure(error));
          again = setTimeout(begin, AGAIN);
        },
      );
    begin();
    return () => clearTimeout(again);
  }, [session]);

  const views = VIEWS.filter(({ endpoint }) => has(endpoint));
  const view = views.find(({ name }) => name === route.value.view);
  const title = page.value?.title ?? "Rankwright";
  useEffect(() => {
    document.title = view ? `${view.title} · ${title}` : title;
  }, [view, title]);
  useTop(route.value.view);

  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        To the content
      </a>
      <header>
        <a class="brand" href="#/">
          <Mark />
          <bdi>{title}</bdi>
        </a>
        <nav aria-label="Views">
          {views.map(({ name, title }) => (
            <a key={name} href={href(name)} aria-current={name === view?.name ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        {hasToken() ? (
          <button type="button" class="plain" onClick={() => setToken("")}>
            Forget the token
          </button>
        ) : (
          page.value?.tokenNeeded && (
            <button type="button" class="plain" onClick={() => (tokenWanted.value = "asked")}>
              Enter the token
            </button>
          )
        )}
      </header>
      <main id="main" tabIndex={-1}>
        {tokenWanted.value && <Login />}
        {error && <Problem error={error} />}
        {!error && !page.value && <Loading />}
        {page.value && view && <view.show key={view.name} />}
        {page.value && !view && (
          <p>
            {waits() ? "The service is not ready yet." : "This page has no such view."} <a href="#/">Go to the overview.</a>
          </p>
        )}
      </main>
      <footer>
        {page.value && (
          <>
            Rankwright {page.value.version} · <a href="openapi.json">HTTP interface</a>
          </>
        )}
      </footer>
    </>
  );
}

/** Another view begins at its top; a link that led there, and is gone, gives it the focus. */
function useTop(view: string) {
  const last = useRef(view);
  useEffect(() => {
    if (view === last.current) return;
    last.current = view;
    scrollTo(0, 0);
    if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
  }, [view]);
}

const Mark = () => (
  <svg viewBox="0 0 128 128" width="26" height="26" aria-hidden="true">
    <rect width="128" height="128" rx="26" fill="#1f6f8b" />
    <g fill="#fff">
      <rect x="24" y="26" width="56" height="18" rx="9" />
      <rect x="24" y="55" width="44" height="18" rx="9" opacity=".8" />
      <rect x="24" y="84" width="32" height="18" rx="9" opacity=".6" />
    </g>
    <path d="M97 102V34M84 47l13-13 13 13" fill="none" stroke="#ffc857" stroke-width="10" stroke-linecap="round" stroke-linejoin="round" />
  </svg>
);

const root = document.getElementById("page")!;
root.textContent = "";
render(<App />, root);

// Where a text stops being JSON, and what should be there: browsers do not say it in one way.

const TOKEN = /[{}[\],:]|"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

type Wanted = "value" | "value or ]" | "key" | "key or }" | ":" | ", or ]" | ", or }" | "end";

const WORDS: Record<Wanted, string> = {
  value: "a value",
  "value or ]": "a value or ]",
  key: 'a name in double quotes, such as "id"',
  "key or }": 'a name in double quotes, such as "id", or }',
  ":": "a colon",
  ", or ]": "a comma or ]",
  ", or }": "a comma or }",
  end: "nothing more",
};

/** The first mistake in words; null where there is none. */
export function mistake(text: string): string | null {
  const open: ("[" | "{")[] = [];
  const after = (): Wanted => (open.length === 0 ? "end" : open.at(-1) === "[" ? ", or ]" : ", or }");
  let wanted: Wanted = "value";
  let at = 0;
  for (;;) {
    while (/[ \t\n\r]/.test(text[at] ?? "")) at++;
    if (at >= text.length) return wanted === "end" ? null : `The text ends, and ${WORDS[wanted]} is missing.`;
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[0];
    const next = token === undefined ? null : step(token);
    if (next === null) {
      const lines = text.slice(0, at).split("\n");
      return `Line ${lines.length}, column ${lines.at(-1)!.length + 1}: ${WORDS[wanted]} should be here.`;
    }
    [wanted, at] = [next, at + token!.length];
  }

  function step(token: string): Wanted | null {
    const closes = (token === "]" && (wanted === "value or ]" || wanted === ", or ]")) || (token === "}" && (wanted === "key or }" || wanted === ", or }"));
    if (closes) {
      open.pop();
      return after();
    }
    if (wanted.startsWith("key")) return token[0] === '"' ? ":" : null;
    if (wanted === ":") return token === ":" ? "value" : null;
    if (wanted.startsWith(",")) return token === "," ? (open.at(-1) === "[" ? "value" : "key") : null;
    if (wanted === "end" || "]},:".includes(token)) return null;
    if (token !== "[" && token !== "{") return after();
    open.push(token);
    return token === "[" ? "value or ]" : "key or }";
  }
}

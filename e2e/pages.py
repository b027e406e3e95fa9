#!/usr/bin/env python3
"""Checks the pages of this repository: pages.py [FOLDER]. Needs no package.

- Every relative link and every #anchor of a *.md file resolves.
- docs/README.md links to every page beside it, and every page under docs that a source file mentions exists.
- No sentence and no table cell's sentence has more than 35 words, and none of VAGUE is in a text. Nor is it in a message or a
  help text of the programs (MESSAGES), in ./run, or in a file of charts/.
- No page has a figure "to be measured".
- A page of docs has 300 to 1,000 words outside code blocks. Pages in the section "Reference" of docs/README.md may be longer.
- Every test that operator/CAPABILITIES.md names exists.

Prints each fault with its place, and ends with 1 where there is one.
"""
import os
import re
import sys

WORDS = 35
PAGE = (300, 1000)
VAGUE = re.compile(r"\b(nobody|somebody|whoever|anew|former|formerly|so many|so (?:long|often)(?! (?:that|as)\b)|told of)\b", re.I)  # name the component that acts, and use the usual word
PLAIN = "name the component that acts, and use the usual word"
MESSAGES = ("services/", "crds/", "operator/")
OTHERS = re.compile(r"\b(tests?|benches|examples|contract|testing)(/|\.rs$)")  # files without messages
# comments, raw texts (scripts), characters, and texts, of which the second group is kept
TEXTS = re.compile(r"""//[^\n]*|\br(#*)".*?"\1|'(?:[^'\\\n]|\\.)'|"((?:[^"\\]|\\.)*)\"""", re.S)
HELP = re.compile(r"((?:[ \t]*///[^\n]*\n)+)[ \t]*#\[(?:arg|command)\b")
SKIPPED = {".git", "target", "./e2e/kept", "node_modules", "pages.rs"}  # pages.rs has broken links on purpose
SOURCES = (".rs", ".sh", ".py", ".yaml", ".yml", ".toml", ".tpl", ".txt")
URL = "github.com/rankwright/rankwright/blob/main/"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    os.chdir(root)
    files = list(walk())
    pages = {path: read(path) for path in files if path.endswith(".md")}
    faults = [fault for path, text in pages.items() for fault in links(path, text)]
    faults += [fault for path in files if path.endswith(SOURCES) or path == "run" for fault in mentions(path)]
    index = pages.get("docs/README.md", "")
    beside = sorted(name for folder, name in map(os.path.split, pages) if folder == "docs" and name != "README.md")
    faults += [f"docs/{name}: docs/README.md has no link to it" for name in beside if f"]({name})" not in index]
    reference = re.findall(r"\]\(([\w-]+\.md)\)", index.partition("\n## Reference\n")[2].partition("\n## ")[0])
    programs = [path for path in files if path.endswith(".rs") and path.startswith(MESSAGES) and not OTHERS.search(path)]
    faults += [fault for path in programs for fault in messages(path)]
    read_too = [path for path in files if path == "run" or path.startswith("charts/") and path.endswith(SOURCES)]
    faults += [fault for path in read_too for fault in vague(path, read(path))]
    for path, text in pages.items():
        faults += [*sentences(path, text), *vague(path, text)]
        if os.path.dirname(path) == "docs":
            faults += length(path, text, reference)
    faults += abilities(pages.get("operator/CAPABILITIES.md", ""), files)
    print("\n".join(faults) or f"{len(pages)} pages: links resolve, words are plain, sentences and pages are short")
    return 1 if faults else 0


def walk():
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(name for name in folders if not {name, os.path.join(folder, name)} & SKIPPED)
        yield from (os.path.normpath(os.path.join(folder, name)) for name in sorted(names) if name not in SKIPPED)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def prose(text):
    """Lines with their numbers; those of code blocks are empty, and so is code within a line."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and fence is None:
            fence, line = mark[1], ""
        elif fence is not None:
            fence, line = None if line.strip() == fence else fence, ""
        yield number, line


def anchors(text, known={}):
    if text not in known:
        seen, known[text] = {}, set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
        for _, line in prose(text):
            title = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
            if title:
                plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title[1]).lower()
                slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
                known[text].add(slug if slug not in seen else f"{slug}-{seen[slug]}")
                seen[slug] = seen.get(slug, 0) + 1
    return known[text]


def links(path, text):
    for number, line in prose(text):
        line = re.sub(r"`[^`]*`", "", line)
        targets = re.findall(r"\]\(\s*<?([^)\s>]+)[^)]*\)", line) + re.findall(r'(?:src|href|srcset)="([^"\s]+)', line)
        for target in targets:
            if not re.match(r"[a-z][a-z0-9+.-]*:", target):
                fault = missing(os.path.dirname(path), target, path)
                if fault:
                    yield f"{path}:{number}: {target}: {fault}"


def missing(folder, target, page):
    name, _, anchor = target.partition("#")
    file = os.path.normpath(os.path.join(folder, name)) if name else page
    if not os.path.exists(file):
        return f"there is no {file}"
    if anchor and file.endswith(".md") and anchor not in anchors(read(file)):
        return f"{file} has no heading with this anchor"
    return None


def mentions(path):
    for number, line in enumerate(read(path).split("\n"), 1):
        for before, target in re.findall(r"(\S*?)\b(docs/[\w-]+\.md(?:#[\w-]+)?)", line) if "docs/" in line else ():
            if not re.search(r"https?:", before) or before.endswith(URL):
                fault = missing("", target, path)
                if fault:
                    yield f"{path}:{number}: {target}: {fault}"


def sentences(path, text):
    """Sentences of paragraphs, list items and table cells that are too long. Headings and code are left out."""
    paragraph, begin = [], 0
    for number, line in [*prose(text), (0, "")]:
        line = line.strip()
        apart = not line or re.match(r"(#|\||<|!\[)", line)
        if apart or re.match(r"([-*+]|\d+\.)\s", line):
            yield from too_long(path, begin, " ".join(paragraph))
            paragraph = []
        if not apart:
            begin = begin if paragraph else number
            paragraph.append(re.sub(r"^([-*+]|\d+\.)\s+", "", line))
        elif line.startswith("|"):
            for cell in re.sub(r"`[^`]*`", "code", line).split("|"):
                yield from too_long(path, number, cell.replace("<br>", ". "))


def too_long(path, number, text):
    text = re.sub(r"`[^`]*`", "code", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text))
    for sentence in re.split(r"(?<=[.!?])[)*\"]*\s+", text):
        words = [word for word in sentence.split() if re.search(r"\w", word)]
        if len(words) > WORDS:
            yield f"{path}:{number}: a sentence of {len(words)} words: {' '.join(words[:8])} ..."


def vague(path, text):
    for number, line in prose(text):
        for word in VAGUE.findall(re.sub(r"`[^`]*`|\]\([^)]*\)|<[^>]*>", "", line)):
            yield f"{path}:{number}: '{word}': {PLAIN}"
        if "to be measured" in line:
            yield f"{path}:{number}: 'to be measured': measure it, or leave out the row"


def messages(path):
    """Vague words in texts of more than one word, and in help texts. Scripts for Redis are no messages, and tests have none."""
    source = read(path).partition("#[cfg(test)]\nmod tests {")[0]
    found = [(match, match[2] or "") for match in TEXTS.finditer(source)] + [(match, match[1]) for match in HELP.finditer(source)]
    for match, text in found:
        if " " in text and "redis.call" not in text:
            for word in VAGUE.findall(re.sub(r"\{[^}]*\}", "", text)):
                yield f"{path}:{source.count(chr(10), 0, match.start()) + 1}: '{word}': {PLAIN}"


def length(path, text, reference):
    count = sum(bool(re.search(r"\w", word)) for _, line in prose(text) for word in re.sub(r"\]\([^)]*\)", "", line).split())
    low, high = PAGE
    if os.path.basename(path) == "README.md" or os.path.basename(path) in reference:
        return
    if not low <= count <= high:
        yield f"{path}: {count} words: a page has {PAGE[0]} to {PAGE[1]}; merge or split it, or list it under Reference in docs/README.md"


def abilities(page, files):
    """Tests that a page names and no source has. `module::…name` stands for the end of a longer name."""
    named = set(re.findall(r"`(?:\w+::…)?([a-z0-9]+(?:_[a-z0-9]+){2,})`", page))
    rust = [path for path in files if path.endswith(".rs") and path.startswith(("operator", "e2e"))] if named else []
    sources = "".join(map(read, rust))
    yield from (f"operator/CAPABILITIES.md: there is no test {name}" for name in sorted(named) if not re.search(rf"fn \w*{name}\(", sources))


if __name__ == "__main__":
    sys.exit(main())

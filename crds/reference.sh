#!/usr/bin/env bash
# Prints docs/kubernetes-reference.md, from crds/rankingservices.yaml: reference.sh. Needs python3, without any package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
exec python3 - rankingservices.yaml <<'PYTHON'
import json
import re
import sys

# --- reading: that part of YAML which the definition is written in -----------------------------------------------------------

lines = [line for line in open(sys.argv[1], encoding="utf-8").read().split("\n") if not line.startswith("#")]
at = 0


def depth(line):
    return len(line) - len(line.lstrip(" "))


def scalar(text):
    if text[:1] in '"[{':
        return json.loads(text)
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        return json.loads(text)
    if text[:1] in "'&*!|>%@`" or text.startswith("- "):
        sys.exit(f"reference.sh does not read this: {text}")
    return text


def block(folded, above):
    """A text over several lines, without its last line break."""
    global at
    taken = []
    while at < len(lines) and (not lines[at].strip() or depth(lines[at]) > above):
        taken.append(lines[at])
        at += 1
    while taken and not taken[-1].strip():
        taken.pop()
    inside = depth(taken[0])
    taken = [line[inside:] for line in taken]
    if not folded:
        return "\n".join(taken)
    text = taken[0]
    for before, line in zip(taken, taken[1:]):
        text += "\n" if not line else line if not before else " " + line
    return text


def value(text, above):
    """What stands behind a key whose line is indented so far."""
    if text in (">-", "|-"):
        return block(text == ">-", above)
    if text:
        return scalar(text)
    while at < len(lines) and not lines[at].strip():
        return None
    inside = depth(lines[at])
    listed = lines[at].lstrip(" ").startswith("- ")
    if inside > above or (inside == above and listed):
        return sequence(inside) if listed else mapping(inside)
    return None


def sequence(inside):
    global at
    found = []
    while at < len(lines) and depth(lines[at]) == inside and lines[at][inside:].startswith("- "):
        rest = lines[at][inside + 2:]
        if re.match(r'("[^"]*"|[^" ][^ ]*):( |$)', rest):
            lines[at] = " " * (inside + 2) + rest
            found.append(mapping(inside + 2))
        else:
            at += 1
            found.append(value(rest, inside))
    return found


def mapping(inside):
    global at
    found = {}
    while at < len(lines) and lines[at].strip() and depth(lines[at]) == inside:
        line = lines[at][inside:]
        key = re.match(r'("[^"]*"|[^" ][^ ]*):( |$)', line)
        if not key or line.startswith("- "):
            break
        at += 1
        found[scalar(key[1])] = value(line[key.end():], inside)
    return found


definition = mapping(0)
if any(line.strip() for line in lines[at:]):
    sys.exit(f"reference.sh does not read line {at + 2} of {sys.argv[1]}: {lines[at]}")

# --- writing -----------------------------------------------------------------------------------------------------------------

# Types of Kubernetes: its own reference has their fields.
KUBERNETES = {
    "env": "EnvVar",
    "resources": "ResourceRequirements",
    "tolerations": "Toleration",
    "rankFrom": "NetworkPolicyPeer",
    "metricsFrom": "NetworkPolicyPeer",
    "conditions": "Condition",
    "imagePullSecrets": "LocalObjectReference",
}

names = definition["spec"]["names"]
[version] = definition["spec"]["versions"]
root = version["schema"]["openAPIV3Schema"]
told = {}


def plain(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def cell(text):
    """Outside of code, where a sign may mean something. What is code already stays."""
    parts = re.split("(`[^`]*`)", plain(text))
    return "".join(part if part[:1] == "`" else re.sub(r"([<*_])", r"\\\1", part) for part in parts)


def code(text):
    return f"`{plain(text)}`"


def kind(schema, name):
    if schema.get("x-kubernetes-int-or-string"):
        return "number or text"
    if "enum" in schema:
        return ", ".join(code(entry) for entry in schema["enum"] if entry is not None)
    of = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}
    if schema.get("format") == "date-time":
        return "time"
    if schema["type"] == "array":
        entries = KUBERNETES.get(name) or {"object": "objects", "string": "texts"}.get(schema["items"].get("type"), "entries")
        return f"list of {entries}"
    if schema["type"] == "object":
        entries = schema.get("additionalProperties")
        if isinstance(entries, dict):
            return "map to " + {"string": "texts"}.get(entries.get("type"), "objects")
        return KUBERNETES.get(name, "object")
    return of[schema["type"]]


def span(least, most, what):
    least, most = (int(number) if number is not None and number == int(number) else number for number in (least, most))
    if least is None and most is None:
        return []
    if least is None or (least == 0 and most is not None and what):
        return [f"at most {most}{what}"]
    if most is None:
        return [f"at least {least}{what}"]
    return [f"{least} to {most}{what}" if least != most else f"{least}{what}"]


def limits(schema):
    found = span(schema.get("minimum"), schema.get("maximum"), "")
    found += span(schema.get("minLength"), schema.get("maxLength"), " signs")
    found += span(schema.get("minItems"), schema.get("maxItems"), " entries")
    found += span(schema.get("minProperties"), schema.get("maxProperties"), " entries")
    if "pattern" in schema:
        found.append(f"matches {code(schema['pattern'])}")
    if schema.get("x-kubernetes-list-type") == "set":
        found.append("no entry twice")
    if schema.get("x-kubernetes-list-type") == "map":
        found.append("one entry for each " + ", ".join(code(key) for key in schema["x-kubernetes-list-map-keys"]))
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        found.append("anything is taken here, and looked at by the operator")
    entries = schema.get("items") if schema.get("type") == "array" else schema.get("additionalProperties")
    if isinstance(entries, dict) and entries.get("type") == "string":
        found += [f"each: {limit}" for limit in limits(entries)]
    return found


def rules(schema):
    return [cell(rule.get("message", rule["rule"])) for rule in schema.get("x-kubernetes-validations", [])]


def default(path, schema, required):
    if path.startswith("status."):
        return "always there" if required else ""
    if required:
        return "required"
    if "default" not in schema:
        return ""
    given = schema["default"]
    if schema.get("type") == "object":
        return "as below"
    return code(given if isinstance(given, str) else json.dumps(given))


def described(schema):
    """The description without the default, which has a column of its own."""
    given = schema.get("default")
    entries = given if isinstance(given, list) else [given]
    said = ", ".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in entries) or "none"
    return (schema.get("description") or "").removesuffix(f" Default: {said}.")


def row(path, schema, required):
    text = [cell(described(schema))]
    found = limits(schema)
    if found:
        text.append("*" + "; ".join(found) + "*")
    text += [f"**Rule:** {rule}" for rule in rules(schema)]
    name = path.rsplit(".", 1)[-1].removesuffix("[]")
    print(f"| `{path}` | {kind(schema, name)} | {default(path, schema, required)} | {'<br>'.join(part for part in text if part)} |")


def fields(path, schema):
    """Rows of everything below."""
    inner, mark = schema, ""
    if schema.get("type") == "array":
        inner, mark = schema["items"], "[]"
    elif isinstance(schema.get("additionalProperties"), dict):
        inner, mark = schema["additionalProperties"], ".*"
    here = path.rsplit(".", 1)[-1]
    properties = inner.get("properties")
    if not properties or here in KUBERNETES:
        return
    same = json.dumps([properties, inner.get("required")], sort_keys=True)
    if len(properties) > 3 and same in told:
        print(f"| `{path}{mark}.*` | | | The same fields as below `{told[same]}` |")
        return
    told[same] = path + mark
    if mark:
        for rule in rules(inner):
            print(f"| `{path}{mark}` | | | **Rule:** {rule} |")
    for name in sorted(properties):
        row(f"{path}{mark}.{name}", properties[name], name in inner.get("required", []))
        fields(f"{path}{mark}.{name}", properties[name])


def table(path, schema, required):
    print(f"\n## {path}\n")
    print(f"| field | type | {'' if path.startswith('status.') else 'default'} | |\n|---|---|---|---|")
    row(path, schema, required)
    fields(path, schema)


print(f"""# Reference of {names['kind']}

Made from [crds/rankingservices.yaml](../crds/rankingservices.yaml) by `crds/reference.sh`: change the types in `crds/src`, not this page.

`apiVersion: {definition['spec']['group']}/{version['name']}`, `kind: {names['kind']}`, {definition['spec']['scope'].lower()}. kubectl knows it as `{names['plural']}`, `{names['singular']}`
and `{'`, `'.join(names['shortNames'])}`, and in the category `{'`, `'.join(names['categories'])}`. The same text is in `kubectl explain {names['singular']}.spec`. {cell(root['description'])}

How to read the tables:

- You may leave out a field that is neither required nor has a default; the resource then lacks it. *As below* means that its fields have the defaults below.
- `[]` is any entry of a list, `.*` any key of a map.
- A type with a capital letter is one of Kubernetes; see its own reference.
- *Limits are slanted.* A rule has the words with which the API server refuses what breaks it.

The API server refuses a whole resource by these rules:
""")
for schema in (root, root["properties"]["spec"]):
    for rule in rules(schema):
        print(f"- {rule}")
print("\n`kubectl get` shows:\n\n| column | from | |\n|---|---|---|")
for column in version["additionalPrinterColumns"]:
    print(f"| {column['name']} | {code(column['jsonPath'])} | {cell(column.get('description') or '')} |")
for part in ("spec", "status"):
    whole = root["properties"][part]
    for name in sorted(whole["properties"]):
        table(f"{part}.{name}", whole["properties"][name], name in whole.get("required", []))
PYTHON

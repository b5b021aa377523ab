"""The OpenAPI document as one self-contained page with its script, readable without internet or script."""

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Iterable
from html import escape
from typing import Any

from app.http.openapi.described_headers import RATE, REQUEST_ID

SCRIPT = """
"use strict";
const SHOWN = 65536, narrow = matchMedia("(max-width: 50rem)");
const find = document.getElementById("find"), key = document.getElementById("key");
const menu = document.querySelector("nav details"), sections = [...document.querySelectorAll("main section")];
const nothing = document.getElementById("nothing");
const texts = new Map(sections.map(each => [each, each.textContent.toLowerCase()]));
const heads = new Map(sections.map(each =>
  [each, [...each.querySelectorAll("h3, h3 + p > b")].map(part => part.textContent.toLowerCase()).join(" ")]));

function search(asked) {
  const words = asked.toLowerCase().split(/\\s+/).filter(Boolean);
  const having = of => sections.filter(each => words.every(word => of.get(each).includes(word)));
  const named = having(heads), found = new Set(named.length ? named : having(texts));
  for (const each of sections) each.hidden = !found.has(each);
  nothing.hidden = found.size > 0;
  for (const link of menu.querySelectorAll("a"))
    link.hidden = document.getElementById(link.hash.slice(1)).hidden;
  for (const head of document.querySelectorAll("main h2, nav b")) head.hidden = words.length > 0;
}

async function send(form) {
  const shown = form.querySelector("output"), path = form.querySelector("input").value;
  const body = form.querySelector("textarea"), headers = {};
  if (!path.startsWith("/") || path.startsWith("//")) { shown.textContent = "A path begins with one slash."; return; }
  if (key.value) headers.Authorization = "Bearer " + key.value.trim();
  if (body) headers["Content-Type"] = "application/json";
  shown.textContent = "...";
  try {
    const options = {method: form.dataset.method, headers, credentials: "omit", cache: "no-store"};
    const answer = await fetch(path, body ? {...options, body: body.value} : options);
    const head = [answer.status + " " + answer.statusText], reader = answer.body.getReader();
    for (const name of ["etag", "x-next-cursor", "x-request-id", "retry-after"])
      if (answer.headers.has(name)) head.push(name + ": " + answer.headers.get(name));
    const decoder = new TextDecoder();
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, {stream: true});
      shown.textContent = head.join("\\n") + "\\n\\n" + text.slice(0, SHOWN);
      if (text.length > SHOWN) { await reader.cancel(); break; }
    }
    try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* it is no JSON, and shown as it came */ }
    shown.textContent = head.join("\\n") + "\\n\\n" + text.slice(0, SHOWN);
  } catch (error) { shown.textContent = String(error); }
}

find.addEventListener("input", () => { menu.open = true; search(find.value); });
document.addEventListener("click", event => {
  if (event.target.matches("details.try button")) send(event.target.closest("details"));
  if (narrow.matches && event.target.closest("nav a")) menu.open = false;
});
menu.open = !narrow.matches;
"""


_EVERYWHERE = {*REQUEST_ID, *RATE}
"""Headers that the page's introduction explains once for all operations."""
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --link: light-dark(#0b57d0, #8ab4f8) }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr) }
nav { position: sticky; top: 0; z-index: 1; height: 100vh; overflow: auto; box-sizing: border-box; padding: 1rem;
  font-size: 13px; border-right: 1px solid var(--line) }
nav a { display: block; padding: 2px 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis }
main { padding: 1rem 2rem 6rem; max-width: 62rem }
a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }
h2 { margin-top: 3rem } section { border-top: 1px solid var(--line); padding: .5rem 0 1rem }
h3 { margin: .5rem 0; font-weight: 500 } h4 { margin: 1rem 0 .25rem; font-size: 13px; opacity: .75 }
code, pre { font: 13px/1.45 ui-monospace, monospace } code { background: var(--soft); padding: 1px 4px }
pre { background: var(--soft); padding: .75rem; overflow: auto; margin: .25rem 0; white-space: pre-wrap }
table { border-collapse: collapse; width: 100% } th { font-size: 12px; opacity: .75 }
td, th { text-align: left; vertical-align: top; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line) }
.method { display: inline-block; min-width: 4em; font: 600 12px ui-monospace, monospace; color: light-dark(#0a5, #5d9) }
.method.post, .method.patch { color: light-dark(#a60, #fb5) } .method.delete { color: light-dark(#b22, #f77) }
summary { cursor: pointer; font-size: 13px } [hidden] { display: none !important }
input, textarea { font: inherit; width: 100%; box-sizing: border-box; margin: 2px 0 6px; color: inherit;
  background: var(--soft); border: 1px solid var(--line); padding: 4px 6px }
textarea, output { font: 13px/1.45 ui-monospace, monospace } output { display: block; white-space: pre-wrap }
section { scroll-margin-top: 3rem; overflow-x: auto }
@media (max-width: 50rem) {
  body { display: block } main { padding: 1rem } code { overflow-wrap: anywhere }
  nav { height: auto; max-height: 60vh; padding: .5rem 1rem; background: Canvas; border: 0;
    border-bottom: 1px solid var(--line) }
  nav a { padding: 8px 0 }
}
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# The page has its own style and script and calls only this service; the policy blocks anything else in it.
PAGE_POLICY = (
    f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(SCRIPT)}; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page_of(api: dict[str, Any]) -> str:
    """The whole page."""
    schemas = api["components"]["schemas"]
    operations = [
        (method.upper(), path, operation)
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]
    menu, body = [], []
    for tag in (each["name"] for each in api["tags"]):
        menu.append(f"<b>{escape(tag)}</b>")
        body.append(f"<h2>{escape(tag)}</h2>")
        for method, path, operation in operations:
            if tag in operation["tags"]:
                menu.append(f'<a href="#{operation["operationId"]}">{_method(method)} {escape(path)}</a>')
                body.append(_operation(method, path, operation))
    menu += ["<b>Schemas</b>", *(f'<a href="#{name}">{name}</a>' for name in schemas)]
    body += ["<h2>Schemas</h2>", *(_schema(name, schema) for name, schema in schemas.items())]
    title = escape(api["info"]["title"])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>"
        '<nav><input id="find" type="search" placeholder="Find" aria-label="Find in this page" autocomplete="off">'
        '<p id="nothing" role="status" hidden>Nothing here has all of these words.</p>'
        f"<details open><summary>Contents</summary>{''.join(menu)}</details></nav>"
        f'<main><h1>{title}</h1><p><a href="/openapi.json">OpenAPI document</a></p>'
        f"{_rich(api['info']['description'])}"
        '<p><label>API key for "try it", kept by this page until it is closed '
        '<input id="key" type="password" autocomplete="off" spellcheck="false"></label></p>'
        f"{''.join(body)}</main><script>{SCRIPT}</script></body></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [
        f'<section id="{operation["operationId"]}"><h3>{_method(method)} <code>{escape(path)}</code></h3>',
        f"<p><b>{escape(operation['summary'])}.</b> {_inline(operation['description'])}</p>",
    ]
    if parameters := operation.get("parameters"):
        parts.append("<h4>Parameters</h4>")
        parts.append(_table(("Name", "Type", "Meaning"), (_parameter(each) for each in parameters)))
    examples: dict[str, Any] = {"": {"value": None}}
    if body := operation.get("requestBody"):
        content = body["content"]["application/json"]
        examples = content["examples"]
        parts.append(f"<h4>Body: {_type(content['schema'])}</h4>")
    for name, example in examples.items():
        curl = escape(curl_line(method, path, example["value"], with_key=bool(operation["security"])))
        parts.append(
            f"<details><summary>curl{escape(f': {name}' if name else '')}</summary><pre>{curl}</pre></details>"
        )
    parts.append(_trial(method, path, next(iter(examples.values()))["value"]))
    parts.append("<h4>Answers</h4>")
    parts.append(
        _table(("Status", "Body", "Meaning"), map(_response, *zip(*operation["responses"].items(), strict=True)))
    )
    return "".join(parts) + "</section>"


def _trial(method: str, path: str, body: Any) -> str:
    """The form by which readers try the operation; the page's script sends it."""
    text = "" if body is None else escape(json.dumps(body, indent=2, ensure_ascii=False))
    return (
        f'<details class="try" data-method="{method}"><summary>try it</summary>'
        f'<label>Path <input value="{escape(path)}" autocomplete="off" spellcheck="false"></label>'
        + ("" if body is None else f'<label>Body <textarea rows="8" spellcheck="false">{text}</textarea></label>')
        + "<button>Send</button><output></output></details>"
    )


def curl_line(method: str, path: str, body: Any, *, with_key: bool) -> str:
    """A curl command that works as printed once $REMIT, $KEY and the ids in braces are filled in."""
    words = ["curl -s" + ("" if method == "GET" else f" -X {method}"), f'"$REMIT{path}"']
    if with_key:
        words.append('-H "Authorization: Bearer $KEY"')
    if body is not None:
        words.append(f"-d {shlex.quote(json.dumps(body))}")
    return " ".join(words)


def _parameter(parameter: dict[str, Any]) -> tuple[str, ...]:
    needed = {"path": " (in the path)", "header": " (a header)"}.get(parameter["in"], "")
    return _code(parameter["name"]), _type(parameter["schema"]), _inline(parameter.get("description", "")) + needed


def _response(status: str, response: dict[str, Any]) -> tuple[str, ...]:
    text = _inline(response["description"])
    for name, header in response.get("headers", {}).items():
        if name not in _EVERYWHERE:
            text += f"<br>{_code(name)}: {_inline(header['description'])}"
    kind = ""
    for media, content in response.get("content", {}).items():
        kind = _type(content["schema"]) if media == "application/json" else _code(media)
        if "example" in content:
            shown = escape(json.dumps(content["example"], indent=2, ensure_ascii=False))
            text += f"<details><summary>example</summary><pre>{shown}</pre></details>"
    return status, kind, text


def _schema(name: str, schema: dict[str, Any]) -> str:
    rows = [
        (
            _code(field),
            _type(inner),
            _inline(inner["description"]),
            "yes" if field in schema.get("required", ()) else "",
        )
        for field, inner in schema.get("properties", {}).items()
    ]
    table = _table(("Field", "Type", "Meaning", "Required"), rows) if rows else f"<p>{_type(schema)}</p>"
    return f'<section id="{name}"><h3>{name}</h3>{_rich(schema["description"])}{table}</section>'


def _type(schema: dict[str, Any]) -> str:
    """The values that a schema accepts, in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{name}">{name}</a>'
    if "enum" in schema:
        return " | ".join(_code(str(word)) for word in schema["enum"])
    if "anyOf" in schema and "properties" not in schema:
        return " | ".join(_type(each) for each in schema["anyOf"])
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", ["anything"])
    words = [schema.get("format", kind) if kind == "string" else kind for kind in kinds]
    if "items" in schema:
        words = [f"list of {_type(schema['items'])}"]
    elif isinstance(schema.get("additionalProperties"), dict):
        words = [f"object of {_type(schema['additionalProperties'])}"]
    return " | ".join(words) + _bounds(schema)


def _bounds(schema: dict[str, Any]) -> str:
    """The ranges and the default of a schema, if it has any."""
    text = ""
    for least, most in (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")):
        if most in schema:
            text += f", {schema.get(least, 0)} to {schema[most]}"
    default = schema.get("default")
    return text + (f", default {_code(json.dumps(default))}" if default is not None else "")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    header = "".join(f"<th>{cell}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{header}</tr>{lines}</table>"


def _method(method: str) -> str:
    return f'<span class="method {method.lower()}">{method}</span>'


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _inline(text: str) -> str:
    """Text with `code` in it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _rich(text: str) -> str:
    """Paragraphs and tables of the little Markdown that descriptions use."""
    blocks = []
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        if lines and lines[0].startswith("|"):
            head, _, *rows = ([_inline(cell.strip()) for cell in line.strip("|").split("|")] for line in lines)
            blocks.append(_table(head, rows))
        elif lines:
            blocks.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "".join(blocks)

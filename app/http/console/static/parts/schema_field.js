// A value as fields, made from its schema.
import { resolve } from "../editor/json_schema.js";
import { Exact, parse, write } from "../exact.js";
import { html, useState } from "../vendor/preact.js";
import { Days, Hours, Zone } from "./hours.js";
import { titled } from "./lacking.js";
import { blank, Marks } from "./policy_form.js";

/** @typedef {{root: any, schema: any, value: any, set: (value: any) => void, path: (string | number)[], marks: import("../draft.js").Mark[], leave?: string[], label?: string}} Props */
/** Those at this place, and those inside it that no field inside shows. @param {import("../draft.js").Mark[]} marks @param {(string | number)[]} path @param {string[]} [shown] */
const marksAt = (marks, path, shown = []) =>
  marks.filter(
    (mark) => path.every((step, index) => step === mark.path[index]) && !shown.includes(String(mark.path[path.length])),
  );

/** @param {Props} props */
export function SchemaField(props) {
  const { root, schema: given, value, set, path, marks, label } = props;
  const schema = {
    ...(given?.$ref ? resolve(root, given.$ref) : given),
    ...(given?.description && { description: given.description }),
  };
  // A number, or a word in its place, such as a window's "forever", is typed in one field.
  const kind = schema.type ?? schema.anyOf?.find((/** @type {any} */ each) => each.type === "integer")?.type;
  const type = Array.isArray(kind) ? kind.find((/** @type {string} */ each) => each !== "null") : kind;
  const named =
    label ?? (path[0] === "parameters" ? String(path[path.length - 1]) : titled(String(path[path.length - 1])));
  const after = html`<${Marks} marks=${marksAt(marks, path)} />`;
  const name = path[path.length - 1];
  if (name === "allowedHours") return html`<${Hours} value=${value} set=${set}>${after}<//>`;
  if (name === "allowedDays" || name === "days") return html`<${Days} value=${value} set=${set}>${after}<//>`;
  if (schema.format === "iana-time-zone")
    return html`<${Zone} label=${named} title=${schema.description} value=${value} set=${set}>${after}<//>`;
  if (schema.enum && schema.enum.length > 1)
    return html`<label>${named}<select value=${value} title=${schema.description} onChange=${(/** @type {any} */ event) => set(event.target.value)}>${schema.enum.map((/** @type {string} */ each) => html`<option>${each}</option>`)}</select>${after}</label>`;
  if (schema.properties) return html`<${Fields} ...${props} schema=${schema} />`;
  if (type === "boolean")
    return html`<label class="check" title=${schema.description}><input type="checkbox" checked=${value === true} onChange=${(/** @type {any} */ event) => set(event.target.checked)} /> ${named}${after}</label>`;
  if (type === "integer" || type === "number")
    return html`<label title=${schema.description}>${named}<input inputmode="decimal" value=${String(value ?? "")} onInput=${(/** @type {any} */ event) => set(numberOf(event.target.value))} />${after}</label>`;
  const items = type === "array" && itemType(schema.items);
  if (name === "windows") return html`<${Items} ...${props} schema=${schema} />`;
  if (
    ["string", "integer"].includes(items) &&
    !(value ?? []).some(
      (/** @type {unknown} */ each) =>
        /** @type {any} */ (each)?.constructor === Object || /,|^\s|\s$/.test(String(each)),
    )
  )
    return html`<label title=${schema.description} class="wide-field">${named}<${ListInput} value=${value ?? []} set=${set} whole=${items === "integer"} />${after}</label>`;
  if (type === "object" && schema.additionalProperties && typeof schema.additionalProperties === "object")
    return html`<${Named} ...${props} schema=${schema} />`;
  if (type === "string")
    return html`<label title=${schema.description}>${named}<input value=${value ?? ""} placeholder=${/such as ([^;,.]+)/.exec(schema.description ?? "")?.[1]} onInput=${(/** @type {any} */ event) => set(event.target.value)} />${after}</label>`;
  return html`<label title=${schema.description} class="wide-field">${named}<${JsonInput} value=${value} set=${set} />${after}</label>`;
}

/** The type of a list's items; of several, a text if it may be one. @param {any} items */
const itemType = (items) =>
  items?.type ?? items?.anyOf?.find((/** @type {any} */ each) => each.type === "string")?.type;

/** The number that a text is in JSON, else the text, for the service to refuse. @param {string} text */
const numberOf = (text) =>
  /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim())
    ? String(Number(text)) === text
      ? Number(text)
      : new Exact(text.trim())
    : text;

/** The text of a field, as it was typed while it stands for the value; a value from elsewhere, such as another rule's, replaces it.
 * @param {any} value @param {(value: any) => string} shown @returns {[string, (text: string, value: any) => void]} */
function useTyped(value, shown) {
  const now = write(value, 0);
  const [typed, setTyped] = useState({ text: shown(value), of: now });
  return [typed.of === now ? typed.text : shown(value), (text, next) => setTyped({ text, of: write(next, 0) })];
}

/** The fields that are given, and a list of those that may be added. @param {Props} props */
function Fields({ root, schema, value, set, path, marks, leave = [], label }) {
  const names = Object.keys(schema.properties).filter((name) => !leave.includes(name));
  const has = names.filter((name) => value?.[name] !== undefined);
  const may = names.filter((name) => value?.[name] === undefined);
  const required = schema.required ?? [];
  const change = (/** @type {string} */ name, /** @type {any} */ next) => {
    const made = { ...value, [name]: next };
    if (next === undefined) delete made[name];
    set(made);
  };
  return html`<fieldset class="fields">${(label ?? path.length > 2) && html`<legend>${label ?? titled(String(path[path.length - 1]))}</legend>`}
    <${Marks} marks=${marksAt(marks, path, [...has, ...leave])} />
    ${has.map(
      (
        name,
      ) => html`<div class="field" key=${name}><${SchemaField} root=${root} schema=${schema.properties[name]} value=${value[name]} set=${(/** @type {any} */ next) => change(name, next)} path=${[...path, name]} marks=${marks} />
      ${!required.includes(name) && html`<button type="button" class="quiet square small" aria-label=${`Remove ${name}`} onClick=${() => change(name, undefined)}>×</button>`}</div>`,
    )}
    ${
      may.length > 0 &&
      html`<select class="add" aria-label="Add a field" value="" onChange=${(/** @type {any} */ event) => {
        if (event.target.value) change(event.target.value, blank(root, schema.properties[event.target.value]));
        event.target.value = "";
      }}><option value="">+ add…</option>${may.map((name) => html`<option value=${name}>${titled(name)}</option>`)}</select>`
    }</fieldset>`;
}

/** Fields by a name of their own, such as constraints by parameter. @param {Props} props */
function Named({ root, schema, value, set, path, marks }) {
  const [name, setName] = useState("");
  const add = () => {
    if (name && value?.[name] === undefined) {
      set({ ...value, [name]: blank(root, schema.additionalProperties) });
      setName("");
    }
  };
  return html`<fieldset class="fields named"><legend>${titled(String(path[path.length - 1]))}</legend>
    <${Marks} marks=${marksAt(marks, path, Object.keys(value ?? {}))} />
    ${Object.entries(value ?? {}).map(
      ([
        each,
        inner,
      ]) => html`<div class="field" key=${each}><${SchemaField} root=${root} schema=${schema.additionalProperties} value=${inner} label=${each} set=${(/** @type {any} */ next) => set({ ...value, [each]: next })} path=${[...path, each]} marks=${marks} />
      <button type="button" class="quiet square small" aria-label=${`Remove ${each}`} onClick=${() => {
        const { [each]: _, ...rest } = value;
        set(rest);
      }}>×</button></div>`,
    )}
    <div class="add-named"><input aria-label="Name to add" placeholder="Such as amount or to[*]" value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} onKeyDown=${(
      /** @type {KeyboardEvent} */ event,
    ) => {
      if (event.key === "Enter") {
        event.preventDefault();
        add();
      }
    }} /><button type="button" onClick=${add}>Add</button></div></fieldset>`;
}

/** @param {{value: any[], set: (value: any) => void, whole: boolean}} props */
function ListInput({ value, set, whole }) {
  const [text, setText] = useTyped(value, (items) => items.join(", "));
  return html`<input value=${text} placeholder="Separated by commas" onInput=${(/** @type {any} */ event) => {
    const words = event.target.value
      .split(",")
      .map((/** @type {string} */ each) => each.trim())
      .filter(Boolean);
    const items = whole ? words.map(numberOf) : words;
    setText(event.target.value, items);
    set(items);
  }} />`;
}

/** @param {string} text */
function isJson(text) {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/** @param {{value: any, set: (value: any) => void}} props */
function JsonInput({ value, set }) {
  const [text, setText] = useTyped(value, (given) => write(given, 0));
  return html`<input class="mono" value=${text} aria-invalid=${!isJson(text)} placeholder="JSON" onInput=${(
    /** @type {any} */ event,
  ) => {
    const typed = event.target.value;
    const next = isJson(typed) ? parse(typed) : value;
    setText(typed, next);
    if (isJson(typed)) set(next);
  }} />`;
}

/** One after the other, each with its fields. @param {Props} props */
function Items({ root, schema, value, set, path, marks }) {
  const list = value ?? [];
  const label = titled(String(path[path.length - 1]));
  return html`<fieldset class="fields"><legend>${label}</legend>
    <${Marks} marks=${marksAt(marks, path, Object.keys(list))} />
    ${list.map(
      (/** @type {any} */ each, /** @type {number} */ at) => html`<div class="field" key=${at}>
      <${SchemaField} root=${root} schema=${schema.items} value=${each} label=${`${label.replace(/s$/, "")} ${at + 1}`} set=${(/** @type {any} */ next) => set(list.with(at, next))} path=${[...path, at]} marks=${marks} />
      <button type="button" class="quiet square small" aria-label=${`Remove ${at + 1} of ${label}`} onClick=${() => set(list.toSpliced(at, 1))}>×</button></div>`,
    )}
    <button type="button" class="add" onClick=${() => set([...list, blank(root, schema.items)])}>+ add…</button></fieldset>`;
}

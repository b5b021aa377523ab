// A JSON editor with completion from a schema and marks from the service. It lives in a shadow root, where its styles
// are constructed sheets, which the page's policy allows.
import {
  autocompletion,
  bracketMatching,
  ensureSyntaxTree,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  defaultKeymap,
  EditorState,
  EditorView,
  HighlightStyle,
  highlightActiveLine,
  history,
  historyKeymap,
  indentOnInput,
  json,
  jsonParseLinter,
  keymap,
  lineNumbers,
  lintGutter,
  lintKeymap,
  setDiagnostics,
  syntaxHighlighting,
  syntaxTree,
  tags,
} from "../vendor/codemirror.js";
import { html, useEffect, useLayoutEffect, useRef } from "../vendor/preact.js";
import { namesAt, schemasAt, valuesOf } from "./json_schema.js";

const LOOK = EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "var(--surface)", color: "var(--text)", maxHeight: "62dvh" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent-soft) 55%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--accent-soft)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-content": { caretColor: "var(--text)", padding: "10px 0" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "8px",
    overflow: "hidden",
    maxWidth: "460px",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-selectionBackground, ::selection": {
    backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent) !important",
  },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
});
const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
]);

/** The path of the value at a place, and whether a name is being written there. @param {any} state @param {number} at */
export function pathAt(state, at) {
  /** @type {(string | number)[]} */
  const path = [];
  let node = syntaxTree(state).resolveInner(at, -1);
  const inName =
    node.name === "PropertyName" ||
    (node.name === "⚠" && node.parent?.name === "Object") ||
    node.name === "Object" ||
    node.name === "{";
  for (let child = node; child; child = child.parent) {
    const parent = child.parent;
    if (parent?.name === "Property" && child.name !== "PropertyName") {
      const name = parent.getChild("PropertyName");
      if (name) path.unshift(JSON.parse(state.sliceDoc(name.from, name.to)));
    } else if (parent?.name === "Array") {
      let index = 0;
      for (let before = parent.firstChild; before && before.from < child.from; before = before.nextSibling)
        if (!["[", "]", ",", "⚠"].includes(before.name)) index++;
      if (!["[", "]", ","].includes(child.name)) path.unshift(index);
    }
    node = child;
  }
  return { path, inName };
}

/** The part of the text that a path such as `$.rules[1].parameters.amount` names. @param {any} state @param {(string | number)[]} path */
export function rangeOf(state, path) {
  let node = (ensureSyntaxTree(state, state.doc.length, 500) ?? syntaxTree(state)).topNode.firstChild;
  let shown = node;
  for (const step of path) {
    if (node?.name === "Object" && typeof step === "string") {
      const property = node.getChildren("Property").find((/** @type {any} */ each) => {
        const name = each.getChild("PropertyName");
        return name && JSON.parse(state.sliceDoc(name.from, name.to)) === step;
      });
      if (!property) break;
      shown = property.getChild("PropertyName");
      node = property.lastChild;
    } else if (node?.name === "Array" && typeof step === "number") {
      let items = [];
      for (let each = node.firstChild; each; each = each.nextSibling)
        if (!["[", "]", ",", "⚠"].includes(each.name)) items.push(each);
      if (!items[step]) break;
      node = shown = items[step];
    } else break;
  }
  return shown
    ? { from: shown.from, to: Math.max(shown.from + 1, Math.min(shown.to, state.doc.lineAt(shown.from).to)) }
    : { from: 0, to: 0 };
}

/** @param {any} root @param {any} start */
function completes(root, start) {
  return (/** @type {any} */ context) => {
    const { path, inName } = pathAt(context.state, context.pos);
    const word = context.matchBefore(/"?[\w.]*/);
    if (!context.explicit && (!word || word.from === word.to)) return null;
    let value;
    try {
      value = JSON.parse(context.state.doc.toString());
    } catch {
      value = undefined;
    }
    const from = word?.from ?? context.pos;
    const after = context.state.sliceDoc(context.pos, context.pos + 1) === '"' ? 1 : 0;
    const put =
      (/** @type {string} */ text) =>
      (/** @type {any} */ view, /** @type {any} */ _, /** @type {number} */ begin, /** @type {number} */ end) =>
        view.dispatch({
          changes: { from: begin, to: end + after, insert: text },
          selection: { anchor: begin + text.length },
        });
    if (inName)
      return {
        from,
        options: [...namesAt(root, value, path, start)].map(([name, info]) => ({
          label: name,
          info: info || undefined,
          type: "property",
          apply: put(`"${name}": `),
          filter: true,
        })),
        filter: true,
        validFor: /^"?[\w.]*$/,
      };
    return {
      from,
      options: valuesOf(schemasAt(root, value, path, start)).map((each) => ({
        label: JSON.stringify(each),
        apply: put(JSON.stringify(each)),
      })),
    };
  };
}

/** The marks are `{path, message, warning}`. @param {{text: string, change: (text: string) => void, marks: {path: (string | number)[], message: string, warning: boolean}[], schema?: any, start?: any, label: string, readOnly?: boolean}} props */
export function JsonEditor({ text, change, marks, schema, start, label, readOnly = false }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const view = useRef(/** @type {any} */ (null));
  const changed = useRef(change);
  changed.current = change;
  useEffect(() => {
    const node = /** @type {HTMLDivElement} */ (host.current);
    const root = node.shadowRoot ?? node.attachShadow({ mode: "open" });
    const made = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          json(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          lintGutter(),
          syntaxHighlighting(COLOURS),
          LOOK,
          EditorView.lineWrapping,
          EditorState.readOnly.of(readOnly),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          autocompletion({ override: schema ? [completes(schema, start)] : [], icons: false }),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
          EditorView.updateListener.of((/** @type {any} */ update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [schema !== undefined, readOnly]);
  useLayoutEffect(() => {
    // before the next key can come, which would be taken back
    const made = view.current;
    if (made && made.state.doc.toString() !== text)
      made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: text } });
  }, [text]);
  useEffect(() => {
    const made = view.current;
    if (!made) return;
    const syntax = jsonParseLinter()(made);
    const found = syntax.length
      ? syntax
      : marks.map((mark) => ({
          ...rangeOf(made.state, mark.path),
          severity: mark.warning ? "warning" : "error",
          message: mark.message,
        }));
    made.dispatch(setDiagnostics(made.state, found));
  }, [text, marks]);
  return html`<div class="cm-host" ref=${host}></div>`;
}

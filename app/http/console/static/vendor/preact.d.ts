// Types of preact.js, for tsc; not served.
export { Fragment, render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { computed, signal } from "@preact/signals";
export type { Signal } from "@preact/signals";
/** A template as elements; what stands in it is not checked. */
export declare function html(strings: TemplateStringsArray, ...values: any[]): any;

// Types of preact.js, for tsc; not served.
export { createContext, Fragment, h, render } from "preact";
export { useCallback, useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
export type { Signal } from "@preact/signals";
/** A template as elements; what stands in it is not checked. */
export declare function html(strings: TemplateStringsArray, ...values: any[]): any;

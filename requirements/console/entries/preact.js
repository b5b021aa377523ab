import htm from "htm";
import { h } from "preact";

export { Fragment, render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { computed, signal } from "@preact/signals";
export const html = htm.bind(h);

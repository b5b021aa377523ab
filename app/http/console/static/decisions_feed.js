// The list of decisions: live at the top, older ones by page, none twice and none missing in between.
import { events, get, noteStale, whileShown } from "./api.js";
import { useEffect, useMemo, useState } from "./vendor/preact.js";

/** How many entries the page keeps. */
export const KEPT = 5000;
const PAGE = 100;

/** The entries that match some filters, the newest first. */
export class Feed {
  /** @param {Record<string, string>} filters @param {boolean} live @param {() => void} changed */
  constructor(filters, live, changed) {
    this.filters = filters;
    this.live = live;
    this.changed = changed;
    /** @type {Entry[]} */ this.entries = [];
    /** @type {Entry[]} new ones that are not shown yet, the oldest first */ this.held = [];
    /** How many were not shown, even if fewer are kept. */ this.missed = 0;
    /** @type {Set<string>} */ this.known = new Set();
    this.paused = false;
    this.pressed = false;
    this.open = false;
    this.reading = true;
    this.cursor = "";
    this.floor = "";
    /** @type {unknown} */ this.error = null;
    this.stop = new AbortController();
    this.drawing = false;
  }

  start() {
    if (!this.live) return void this.readFirst();
    // No row moves between the press and the release of a click.
    const { signal: until } = this.stop;
    addEventListener(
      "pointerdown",
      ({ button }) => {
        this.pressed = button === 0;
      },
      { signal: until },
    );
    for (const end of ["pointerup", "pointercancel"])
      addEventListener(
        end,
        () => {
          this.pressed = false;
          this.draw();
        },
        { signal: until },
      );
    let first = true;
    whileShown(this.stop.signal, (signal, after) =>
      events("/v1/audit-logs/stream", {
        query: this.filters,
        signal,
        after,
        // The stream is open before the page is read, so that no entry falls between the two.
        live: (open) => {
          this.open = open;
          if (open) this.error = null;
          if (open && first) {
            first = false;
            this.readFirst();
          }
          this.draw();
        },
        failed: (error) => {
          this.error = error;
          this.reading = false;
        },
        event: (entry) => this.add(entry),
      }).catch((error) => {
        this.error = error;
        this.reading = false;
        this.draw();
        throw error;
      }),
    );
  }

  /** @param {Entry} entry */
  add(entry) {
    if (this.known.has(entry.id)) return;
    this.known.add(entry.id);
    this.held.push(entry);
    if (this.paused) this.missed++;
    if (this.held.length > KEPT) this.forget(this.held.splice(0, this.held.length - KEPT));
    this.draw();
  }

  async readFirst() {
    this.reading = true;
    try {
      await this.page({});
    } catch (error) {
      this.error = error;
    }
    this.reading = false;
    this.show();
  }

  /** Read the next older page, if there is one and there is room. */
  async older() {
    if (!this.cursor || this.reading || this.entries.length >= KEPT) return;
    this.reading = true;
    this.draw();
    try {
      await this.page({ cursor: this.cursor });
    } catch (error) {
      this.error = error;
    }
    this.reading = false;
    this.draw();
  }

  /** @param {{cursor?: string}} from */
  async page(from) {
    // A page of a search may be empty although there are more.
    for (let cursor = from.cursor; ;) {
      const { data, next, floor } = await get(
        "/v1/audit-logs",
        { ...this.filters, cursor, limit: PAGE },
        this.stop.signal,
      );
      if (cursor && !this.cursor) return; // meanwhile the end was cut off, which these would follow
      const found = /** @type {Entry[]} */ (data).filter((each) => !this.known.has(each.id));
      for (const each of found) this.known.add(each.id);
      this.entries = [...this.entries, ...found];
      this.cursor = cursor = next;
      this.floor = floor || this.floor;
      if (found.length || !next) return;
    }
  }

  /** @param {boolean} paused */
  pause(paused) {
    this.paused = paused;
    if (!paused) this.missed = 0;
    this.draw();
  }

  /** Show what has come soon, with what comes until then. */
  draw() {
    if (this.drawing) return;
    this.drawing = true;
    setTimeout(() => {
      this.drawing = false;
      this.show();
    }, 80);
  }

  /** Show what has come. */
  show() {
    if (this.stop.signal.aborted) return;
    if (!this.paused && !this.pressed && this.held.length) {
      this.entries = [...this.held.reverse(), ...this.entries];
      this.held = [];
      if (this.entries.length > KEPT) {
        this.forget(this.entries.splice(KEPT));
        this.cursor = ""; // what was older is gone from the page; a new query finds it
      }
    }
    this.changed();
  }

  /** @param {Entry[]} gone */
  forget(gone) {
    for (const each of gone) this.known.delete(each.id);
  }
}

/** The feed of these filters, drawn again whenever it changes. @param {Record<string, string>} filters @param {boolean} live */
export function useFeed(filters, live) {
  const [, draw] = useState(0);
  const key = JSON.stringify([filters, live]);
  const feed = useMemo(() => new Feed(filters, live, () => draw((before) => before + 1)), [key]);
  useEffect(() => {
    feed.start();
    return () => feed.stop.abort();
  }, [feed]);
  const why = feed.entries.length > 0 && feed.error;
  useEffect(() => {
    noteStale(key, why);
    return () => noteStale(key);
  }, [key, why]);
  return feed;
}

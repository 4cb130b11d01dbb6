// Views that stay current: one stream says which of those shown has changed, and that one is asked
// for again.
import { useEffect, useState } from "../vendor/hooks.js";
import { get, Refused, respond } from "./requests.js";
import { signal } from "./signal.js";
import { token } from "./session.js";
import { backOff, readEvents } from "./stream.js";

const LONGEST_SILENCE = 25_000;
// After a stream has ended it is not known what has changed, or may be seen no more.
const EVERY_VIEW = null;

// `since`: when what is shown was last known to be current; null while it is.
export const connection = signal({ state: "connecting", since: null });

const shown = new Map(); // how often each view is shown
const listeners = new Set();
let running = null;
let confirmed = Date.now();

// What the API answers at `path`, and again after each change; or `every` so many milliseconds where
// changes are not said.
export function useLive(path, { every = null } = {}) {
  const [found, keep] = useState({ data: null, error: null, path });
  useEffect(() => {
    const stop = new AbortController();
    let version = null;
    let latest = null;
    let failures = 0;
    const load = oneAtATime(async () => {
      if (version !== null && version === latest) return;
      try {
        const data = await get(path, { signal: stop.signal });
        version = data.version ?? null;
        failures = 0;
        keep({ data, error: null, path });
      } catch (error) {
        if (stop.signal.aborted) return;
        // What may no longer be seen is no longer shown.
        keep((before) => ({ data: isPassing(error) ? before.data : null, error, path }));
        if (isPassing(error)) setTimeout(load, backOff((failures += 1)));
      }
    });
    const changed = ({ view, version: said }) => {
      if (view !== path && view !== EVERY_VIEW) return;
      latest = said;
      load();
    };
    load();
    if (every !== null) {
      const timer = setInterval(load, every);
      return () => {
        stop.abort();
        clearInterval(timer);
      };
    }
    show(path, 1);
    listeners.add(changed);
    return () => {
      stop.abort();
      listeners.delete(changed);
      show(path, -1);
    };
  }, [path, every]);
  return found.path === path ? found : { data: null, error: null, path };
}

// Whether another attempt may do better.
function isPassing(error) {
  return !(error instanceof Refused) || error.status === 429 || error.status >= 500;
}

// A change during a request calls for one more, not for one beside it.
function oneAtATime(action) {
  let busy = false;
  let again = false;
  return async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    do {
      again = false;
      await action();
    } while (again);
    busy = false;
  };
}

function show(view, by) {
  const before = shown.get(view) ?? 0;
  shown.set(view, before + by);
  if ((before === 0) !== (before + by === 0)) queueMicrotask(follow);
}

// Follows the views that are shown, instead of those before.
function follow() {
  const views = [...shown].filter(([, count]) => count > 0).map(([view]) => view);
  const key = `${token.get()} ${views.sort().join(" ")}`;
  if (running?.key === key) return;
  running?.stop.abort();
  running = views.length && token.get() ? { key, views, stop: new AbortController() } : null;
  if (running) keepFollowing(running);
}

token.subscribe(follow);

async function keepFollowing({ views, stop }) {
  const query = views.map((view) => `view=${encodeURIComponent(view)}`).join("&");
  let isFirst = true;
  for (let failures = 0; !stop.signal.aborted; failures += 1) {
    const began = () => {
      failures = 0;
      if (!isFirst) tell({ view: EVERY_VIEW, version: null });
      isFirst = false;
    };
    try {
      await followOnce(query, stop.signal, began);
    } catch {
      // Whatever it was, the next attempt comes after a while; a refused token has ended the session.
    }
    if (stop.signal.aborted) return;
    stale(confirmed);
    await new Promise((done) => setTimeout(done, backOff(failures)));
  }
}

async function followOnce(query, signalled, began) {
  const own = new AbortController();
  const end = () => own.abort();
  signalled.addEventListener("abort", end);
  let silence = setTimeout(end, LONGEST_SILENCE);
  try {
    const headers = { Accept: "text/event-stream" };
    const response = await respond(`events?${query}`, { headers, signal: own.signal });
    began();
    current();
    await readEvents(response, (event) => {
      clearTimeout(silence);
      silence = setTimeout(end, LONGEST_SILENCE);
      take(event);
    });
  } finally {
    clearTimeout(silence);
    signalled.removeEventListener("abort", end);
  }
}

function take({ event, data }) {
  if (event === "stale") return stale(Date.now());
  if (event === "changed") tell(JSON.parse(data));
  if (event === "current" || connection.get().state === "live") current();
}

function tell(changed) {
  for (const listener of listeners) listener(changed);
}

function current() {
  confirmed = Date.now();
  connection.set({ state: "live", since: null });
}

function stale(since) {
  if (connection.get().state !== "stale") connection.set({ state: "stale", since });
}

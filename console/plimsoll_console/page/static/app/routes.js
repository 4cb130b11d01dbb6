// Which view is shown: the address's fragment, such as #/jobs/TrainingJob/team/name.
import { signal } from "../server/signal.js";

export const VIEWS = [
  ["map", "Map"],
  ["queue", "Queue"],
  ["power", "Power"],
  ["money", "Money"],
  ["history", "History"],
];

export const route = signal(parsed(location.hash));
addEventListener("hashchange", () => route.set(parsed(location.hash)));

function parsed(fragment) {
  const [view, ...rest] = fragment.replace(/^#\/?/, "").split("/").map(decoded);
  if (view === "jobs" && rest.length === 3) return { view, parts: rest };
  if (view === "map") return { view, parts: rest.slice(0, 1) };
  return { view: VIEWS.some(([name]) => name === view) ? view : "map", parts: [] };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function addressOf(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

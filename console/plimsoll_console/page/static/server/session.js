// The bearer's token: kept for this tab alone, and never in an address or a cookie.
import { signal } from "./signal.js";

const KEY = "plimsoll-token";
const IN_ADDRESS = "#token=";

export const token = signal(sessionStorage.getItem(KEY) ?? "");
export const refusal = signal("");

// `plimsoll ui` opens the page with the token in the fragment, which browsers send to nobody. It
// goes from the address and from the history at once.
export function takeTokenFromAddress() {
  if (!location.hash.startsWith(IN_ADDRESS)) return;
  const given = decodeURIComponent(location.hash.slice(IN_ADDRESS.length));
  history.replaceState(null, "", `${location.pathname}${location.search}`);
  signIn(given);
}

export function signIn(given) {
  sessionStorage.setItem(KEY, given);
  refusal.set("");
  token.set(given);
}

export function signOut(because = "") {
  sessionStorage.removeItem(KEY);
  refusal.set(because);
  token.set("");
}

// Dark or light: as the system is, unless somebody has chosen here.
import { html } from "../parts/html.js";
import { signal, useSignal } from "../server/signal.js";

const KEY = "plimsoll-theme";
const THEMES = ["system", "light", "dark"];
const SAID = { system: "as the system", light: "light", dark: "dark" };

const chosen = signal(stored());

function stored() {
  const found = localStorage.getItem(KEY);
  return THEMES.includes(found) ? found : "system";
}

const isDark = matchMedia("(prefers-color-scheme: dark)");
isDark.addEventListener("change", applyTheme);

// The style sheet has each palette once, and so knows nothing of the system's wish.
export function applyTheme() {
  const theme = chosen.get();
  const own = isDark.matches ? "dark" : "light";
  document.documentElement.dataset.theme = theme === "system" ? own : theme;
}

function choose(theme) {
  localStorage.setItem(KEY, theme);
  chosen.set(theme);
  applyTheme();
}

export function ThemeSwitch() {
  const theme = useSignal(chosen);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  const says = `Colours: ${SAID[theme]}. Change to ${SAID[next]}.`;
  return html`<button class="quiet icon" title=${says} aria-label=${says} onClick=${() => choose(next)}>
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d=${theme === "light" ? "" : theme === "dark" ? "M8 2a6 6 0 1 1 0 12a6 6 0 1 1 0-12" : "M8 2a6 6 0 0 1 0 12z"} fill="currentColor" />
    </svg>
  </button>`;
}

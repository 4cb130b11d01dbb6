// What is around each view: where one is, who one is, how the cluster is, and whether that is current.
import { useEffect, useRef } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { clock } from "../parts/amounts.js";
import { later } from "../parts/later.js";
import { Name } from "../parts/words.js";
import { connection, useLive } from "../server/live.js";
import { signOut, token } from "../server/session.js";
import { useSignal } from "../server/signal.js";
import { MapView } from "../views/map/map.js";
import { Login } from "./login.js";
import { addressOf, route, VIEWS } from "./routes.js";
import { Summary } from "./summary.js";
import { ThemeSwitch } from "./theme.js";

const MINUTE = 60_000;
const SHOWN = {
  map: MapView,
  queue: later(async () => (await import("../views/queue/queue.js")).QueueView),
  jobs: later(async () => (await import("../views/job/job.js")).JobView),
  power: later(async () => (await import("../views/power.js")).PowerView),
  money: later(async () => (await import("../views/money.js")).MoneyView),
  history: later(async () => (await import("../views/history.js")).HistoryView),
};
const TITLES = { ...Object.fromEntries(VIEWS), jobs: "Job" };

export function Frame() {
  const bearer = useSignal(token);
  return bearer ? html`<${Inside} key=${bearer} />` : html`<${Login} />`;
}

function Inside() {
  const { view, parts } = useSignal(route);
  const main = useRef(null);
  const cluster = useLive("cluster");
  const place = [view, ...parts].join("/");
  const first = useRef(place);
  useEffect(() => {
    document.title = `${TITLES[view]} · Plimsoll`;
    if (first.current !== place) main.current.focus();
    first.current = null;
  }, [place]);
  return html`
    <a class="skip" href="#main" onClick=${(event) => skip(event, main.current)}>Skip to the view</a>
    <header class="top">
      <a class="brand" href=${addressOf("map")} aria-label="Plimsoll: map">
        <svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="10" /><path d="M1 16h30" /></svg>
        <span>Plimsoll</span>
      </a>
      <nav aria-label="Views">
        ${VIEWS.map(
          ([name, title]) =>
            html`<a key=${name} href=${addressOf(name)} aria-current=${name === view ? "page" : undefined}>${title}</a>`,
        )}
      </nav>
      <div class="top-end">
        <${Connection} found=${cluster} />
        <${ThemeSwitch} />
        <${Who} />
      </div>
    </header>
    <${Summary} found=${cluster} />
    <main id="main" ref=${main} tabindex="-1">
      <h1 class=${view === "jobs" ? "only-heard" : ""}>${TITLES[view]}</h1>
      <${SHOWN[view]} key=${place} parts=${parts} cluster=${cluster.data} />
    </main>
  `;
}

function skip(event, main) {
  event.preventDefault();
  main.focus();
}

function Connection({ found }) {
  const { state, since } = useSignal(connection);
  const staleSince = found.data?.staleSince ?? null;
  const from = since ?? (staleSince ? Date.parse(staleSince) : null);
  const isLive = state === "live" && (found.data ?? found.error) !== null;
  const [tone, said] =
    from !== null ? ["stale", `Stale since ${clock(from)}`] : isLive ? ["live", "Live"] : ["waits", "Connecting"];
  return html`<span class=${`connection ${tone}`} role="status"><span class="dot" aria-hidden="true"></span>${said}</span>`;
}

function Who() {
  const me = useLive("me", { every: MINUTE }).data;
  return html`<span class="who">
    ${me ? html`<${Name} text=${me.user} />` : null}
    <button class="quiet" onClick=${() => signOut()}>Sign out</button>
  </span>`;
}

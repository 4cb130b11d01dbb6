// What was used, and what it cost: by whom, and how much of it was thrown away or idle.
import { useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { compact, dollars, moment, number } from "../parts/amounts.js";
import { Bar } from "../parts/bar.js";
import { Choice } from "../parts/choice.js";
import { Loaded } from "../parts/loaded.js";
import { Table } from "../parts/table.js";
import { Name, NamedJob } from "../parts/words.js";
import { useLive } from "../server/live.js";

const MINUTE = 60_000;
const TIMES = [
  ["24h", "Day"],
  ["7d", "Week"],
  ["30d", "30 days"],
  ["365d", "Year"],
];
const DIMENSIONS = [
  ["queue", "Queue"],
  ["namespace", "Namespace"],
  ["user", "User"],
  ["job", "Job"],
  ["type", "Type"],
];

export function MoneyView() {
  const [since, from] = useState("7d");
  const [by, sumBy] = useState("queue");
  const found = useLive(`usage?since=${since}&by=${by}`, { every: MINUTE });
  return html`
    <div class="tools">
      <${Choice} name="since" label="Last" options=${TIMES} value=${since} onChange=${from} />
      <${Choice} name="by" label="By" options=${DIMENSIONS} value=${by} onChange=${sumBy} />
    </div>
    ${found.error?.status === 404
      ? html`<p class="empty">This console keeps no ledger, so there is no usage to show.</p>`
      : html`<${Loaded} found=${found}>${(usage) => html`<${Usage} usage=${usage} by=${by} />`}<//>`}
  `;
}

// A year's jobs are more than one can read, and than a browser draws in good time.
const MOST_ROWS = 200;

function Usage({ usage, by }) {
  if (!usage.rows.length) return html`<p class="empty">Nothing has been accounted for in this time${usage.accountedUntil ? "" : " yet"}.</p>`;
  const named = usage.rows.filter(({ remainder }) => !remainder);
  const rest = usage.rows.filter(({ remainder }) => remainder);
  named.sort((one, other) => other.dollars - one.dollars || total(other) - total(one));
  const rows = [...named.slice(0, MOST_ROWS), ...rest];
  // Free time and all others' may be so much more that no job's bar could be seen beside theirs.
  const most = Math.max(0, ...rows.filter((row) => row.keys[by]).map(total));
  return html`
    <${Sums} rows=${named} />
    ${rest.length ? html`<p class="dim">These sums leave out what is not shown to you.</p>` : null}
    <${Legend} />
    <${Table} caption="Usage" rows=${rows} keyOf=${(row) => `${row.keys[by]} ${row.remainder}`} columns=${columns(by, most)} />
    ${named.length > MOST_ROWS ? html`<p class="dim">${number(named.length - MOST_ROWS)} more that cost less are in the sums alone.</p>` : null}
    <p class="dim">Accounted until ${moment(usage.accountedUntil)}.</p>
  `;
}

function Sums({ rows }) {
  const isKnown = rows.some(({ gramsCO2 }) => gramsCO2 !== null);
  return html`<dl class="sums">
    <${SumOf} title="Cost" value=${dollars(sum(rows, (row) => row.dollars))} />
    <${SumOf} title="GPU-hours of jobs" value=${compact(sum(rows, (row) => row.gpuHours))} />
    <${SumOf} title="Thrown away" value=${compact(sum(rows, (row) => hours(row, "lost")))} note="GPU-hours of work" />
    <${SumOf} title="Idle" value=${compact(sum(rows, (row) => hours(row, "idle")))} note="GPU-hours" />
    <${SumOf} title="Energy" value=${`${compact(sum(rows, (row) => row.kWh))} kWh`} />
    ${isKnown ? html`<${SumOf} title="CO₂" value=${`${compact(sum(rows, (row) => row.gramsCO2 ?? 0) / 1000)} kg`} />` : null}
  </dl>`;
}

function SumOf({ title, value, note = null }) {
  return html`<div><dt>${title}</dt><dd>${value}${note ? html` <span class="note">${note}</span>` : null}</dd></div>`;
}

const USES = [
  ["useful", "useful", "useful"],
  ["starting", "borrowed", "starting, restoring"],
  ["lost", "lost", "thrown away"],
  ["reserved", "taken", "reserved"],
  ["idle", "idle", "idle"],
  ["unusable", "unusable", "unusable"],
  ["foreign", "other", "pods beside Plimsoll"],
  ["unobserved", "unseen", "not observed"],
];

const hours = (row, use) => row.gpuHoursByUse[use] ?? 0;
const total = (row) => USES.reduce((all, [use]) => all + hours(row, use), 0);
const sum = (rows, value) => rows.reduce((all, row) => all + value(row), 0);

function Legend() {
  return html`<ul class="legend" aria-label="Colours">
    ${USES.map(([use, tone, word]) => html`<li key=${use} class="legend-item"><span class=${`swatch square bar-part ${tone}`}></span>${word}</li>`)}
  </ul>`;
}

const columns = (by, most) => [
  { title: DIMENSIONS.find(([key]) => key === by)[1], cell: (row) => html`<${Owner} row=${row} by=${by} />` },
  { title: "Use", wide: true, cell: (row) => html`<${Uses} row=${row} most=${most} />` },
  { title: "GPU-hours", number: true, cell: (row) => compact(row.gpuHours) },
  { title: "Thrown away", number: true, cell: (row) => compact(hours(row, "lost")) },
  { title: "Idle", number: true, cell: (row) => compact(hours(row, "idle")) },
  { title: "Waited", number: true, cell: (row) => compact(hours(row, "waiting")) },
  { title: "Cost", number: true, cell: (row) => dollars(row.dollars) },
  { title: "kWh", number: true, cell: (row) => compact(row.kWh) },
  { title: "kg CO₂", number: true, cell: (row) => compact(row.gramsCO2 === null ? null : row.gramsCO2 / 1000) },
];

// What no job had, has no owner; nor, among users, have jobs of which nobody wrote down who made them.
const OWNERLESS = { user: "no user known", type: "no type known" };

function Owner({ row, by }) {
  if (row.remainder) return html`<span class="dim">not shown to you</span>`;
  const text = row.keys[by] || null;
  if (text !== null && by === "job") return html`<${NamedJob} text=${text} />`;
  return html`<${Name} text=${text} none=${OWNERLESS[by] ?? "no job"} />`;
}

function Uses({ row, most }) {
  const parts = USES.map(([use, tone]) => ({ amount: hours(row, use), tone }));
  const said = USES.filter(([use]) => hours(row, use)).map(([use, , word]) => `${compact(hours(row, use))} GPU-hours ${word}`);
  return html`<${Bar} label=${said.join(", ") || "nothing"} whole=${Math.max(most, total(row))} parts=${parts} />`;
}

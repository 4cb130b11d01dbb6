// A service: its load, its replicas, and what requests are promised.
import { html } from "../../parts/html.js";
import { compact, moment, number, percent } from "../../parts/amounts.js";
import { Bar } from "../../parts/bar.js";
import { Table } from "../../parts/table.js";
import { Name } from "../../parts/words.js";

export function Service({ service }) {
  const { attainmentPercent, promisedPercent, backlogLeft, backlogCompletion } = service;
  return html`<section aria-labelledby="service">
    <h2 id="service">Service</h2>
    <dl class="facts columns">
      <dt>Kept</dt><dd>${percent(attainmentPercent)} of requests, ${percent(promisedPercent)} promised</dd>
      ${backlogLeft === null ? null : html`<dt>Backlog</dt><dd>${compact(backlogLeft)}, done by ${moment(backlogCompletion)}</dd>`}
    </dl>
    <${Table} caption="Roles" rows=${service.roles} keyOf=${({ name }) => name} columns=${COLUMNS} />
  </section>`;
}

const COLUMNS = [
  { title: "Role", cell: ({ name }) => html`<${Name} text=${name} />` },
  { title: "Load", number: true, cell: ({ observed }) => compact(observed) },
  { title: "Forecast", number: true, cell: ({ forecast }) => compact(forecast) },
  { title: "Replicas", number: true, cell: ({ ready, wanted }) => `${number(ready)} / ${number(wanted)}` },
  { title: "Draining", number: true, cell: ({ draining }) => number(draining) },
  { title: "Ready", wide: true, cell: ({ ready, wanted }) => html`<${Bar} label=${`${ready} of ${wanted} replicas are ready`} whole=${Math.max(wanted, ready, 1)} parts=${[{ amount: ready, tone: "useful" }]} />` },
];

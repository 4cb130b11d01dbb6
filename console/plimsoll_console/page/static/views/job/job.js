// A job: where it is, what became of it, how fast it is against what it stated, and what it costs.
import { html } from "../../parts/html.js";
import { dollars, gpuHours, gpus, number, watts } from "../../parts/amounts.js";
import { Loaded } from "../../parts/loaded.js";
import { Table } from "../../parts/table.js";
import { Name, Reason, Sentence } from "../../parts/words.js";
import { useLive } from "../../server/live.js";
import { Asks } from "../queue/queue.js";
import { Life } from "./life.js";
import { Progress, Rates } from "./progress.js";
import { Service } from "./service.js";

export function JobView({ parts }) {
  const path = `jobs/${parts.map(encodeURIComponent).join("/")}`;
  return html`<${Loaded} found=${useLive(path)}>${(job) => html`<${Job} job=${job} />`}<//>`;
}

function Job({ job }) {
  const { key } = job;
  return html`
    <header class="job-heading">
      <h2><${Name} text=${key.name} /></h2>
      <span class=${`state ${job.state.toLowerCase()}`}>${job.state}</span>
      <span class="dim">${key.kind} in <${Name} text=${key.namespace} />${key.workloadKind ? html`, for ${key.workloadKind} <${Name} text=${key.workloadName} />` : ""}</span>
    </header>
    <p><${Reason} text=${job.reason} /> <${Sentence} text=${job.message} /></p>
    <dl class="facts columns">
      <dt>Queue</dt><dd><${Name} text=${job.queue} /></dd>
      <dt>Priority</dt><dd>${number(job.priority)}</dd>
      <dt>Asks for</dt><dd><${Asks} asked=${job.asked} /></dd>
      <dt>Holds</dt><dd>${gpus(job.gpusMilli)} GPUs</dd>
      <dt>Cost</dt><dd>${dollars(job.dollarsPerHour)} an hour</dd>
      <dt>Power</dt><dd>${watts(job.watts)}</dd>
      <dt>Restarts</dt><dd>${number(job.restarts)}</dd>
      <dt>Work lost</dt><dd>${gpuHours(job.gpuSecondsLost)}</dd>
    </dl>
    ${job.progress ? html`<${Progress} progress=${job.progress} />` : null}
    ${job.service ? html`<${Service} service=${job.service} />` : null}
    <section aria-labelledby="life"><h2 id="life">Life</h2><${Life} life=${job.life} /></section>
    ${job.rates.length ? html`<section aria-labelledby="rates"><h2 id="rates">Speed</h2><${Rates} rates=${job.rates} /></section>` : null}
    ${job.slowWorkers.length
      ? html`<section aria-labelledby="slow"><h2 id="slow">Slow workers</h2><${Table} caption="Slow workers" rows=${job.slowWorkers} keyOf=${({ replica }) => replica} columns=${SLOW} /></section>`
      : null}
    <section aria-labelledby="places"><h2 id="places">Places</h2>
      <${Table} caption="Places" rows=${job.places} keyOf=${placeKey} columns=${PLACES} empty="It has none." />
    </section>
    ${job.power.length ? html`<section aria-labelledby="power"><h2 id="power">Power of a GPU</h2><${Table} caption="Power of a GPU" rows=${job.power} keyOf=${({ role }) => role} columns=${POWER} /></section>` : null}
  `;
}

const placeKey = (place) => `${place.role} ${place.replica} ${place.node}`;

const PLACES = [
  { title: "Role", cell: ({ role }) => html`<${Name} text=${role} />` },
  { title: "Replica", number: true, cell: ({ replica }) => number(replica) },
  { title: "Node", cell: ({ node }) => html`<${Name} text=${node} />` },
  { title: "Type", cell: ({ type }) => html`<${Name} text=${type} />` },
  { title: "Pool", cell: ({ pool }) => html`<${Name} text=${pool} />` },
  { title: "Is", cell: ({ phase }) => ({ Coming: "coming", Running: "running", Going: "going" })[phase] },
];

const SLOW = [
  { title: "Replica", number: true, cell: ({ replica }) => number(replica) },
  { title: "Node", cell: ({ node }) => html`<${Name} text=${node} />` },
  { title: "Holds up its gang by", number: true, cell: ({ lostPercent }) => `${number(lostPercent)} %` },
];

const POWER = [
  { title: "Role", cell: ({ role }) => html`<${Name} text=${role} />` },
  { title: "Expected", number: true, cell: ({ expected }) => watts(expected) },
  { title: "Measured", number: true, cell: ({ measured }) => (measured ? watts(measured) : "–") },
];

// The cluster in one line.
import { html } from "../parts/html.js";
import { dollars, gpus, number, percent, watts } from "../parts/amounts.js";
import { Bar } from "../parts/bar.js";
import { Sentence } from "../parts/words.js";

export function Summary({ found }) {
  const { data } = found;
  if (!data) return html`<section class="summary" aria-label="The cluster in short"></section>`;
  const { counts, plan } = data;
  const held = `${gpus(counts.takenMilli)} of ${gpus(counts.gpusMilli)} GPUs are held`;
  return html`<section class="summary" aria-label="The cluster in short">
    <dl>
      <div class="summary-gpus">
        <dt>GPUs held</dt>
        <dd>
          ${gpus(counts.takenMilli)}<span class="dim"> / ${gpus(counts.gpusMilli)}</span>
          <${Bar} label=${held} whole=${counts.gpusMilli} parts=${usage(counts)} />
        </dd>
      </div>
      <${Figure} title="Nodes ready" value=${number(counts.nodesReady)} of=${number(counts.nodes)} />
      <${Figure} title="Jobs running" value=${number(counts.jobsRunning)} />
      <${Figure} title="Waiting" value=${number(counts.jobsWaiting)} />
      ${plan ? html`<${Figure} title="Gap of the plan" value=${percent(plan.gapPercent)} />` : null}
      <${Figure} title="Power" value=${watts(data.measuredWatts ?? data.expectedWatts)} note=${data.measuredWatts === null ? "expected" : "measured"} />
      <${Figure} title="Cost an hour" value=${dollars(data.dollarsPerHour)} />
      ${data.mode === "Advise" ? html`<${Figure} title="Mode" value="Advise" note="plans are not carried out" />` : null}
    </dl>
    ${data.problems.map((text) => html`<p key=${text} class="problem" role="alert"><${Sentence} text=${text} /></p>`)}
  </section>`;
}

const usage = ({ usefulMilli, takenMilli }) => [
  { amount: usefulMilli, tone: "useful" },
  { amount: Math.max(0, takenMilli - usefulMilli), tone: "taken" },
];

function Figure({ title, value, of = null, note = null }) {
  return html`<div>
    <dt>${title}</dt>
    <dd>${value}${of === null ? null : html`<span class="dim"> / ${of}</span>`}${note ? html` <span class="note">${note}</span>` : null}</dd>
  </div>`;
}

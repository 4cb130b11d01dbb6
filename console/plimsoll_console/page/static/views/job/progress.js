// How far a training job is, and how fast: measured against what it stated.
import { html } from "../../parts/html.js";
import { compact, moment, number, percent, span } from "../../parts/amounts.js";
import { Bar } from "../../parts/bar.js";
import { Table } from "../../parts/table.js";
import { Name } from "../../parts/words.js";

export function Progress({ progress }) {
  const { done, saved, total, unit, rate, lost } = progress;
  const whole = total ?? Math.max(done, 1);
  const parts = [
    { amount: saved ?? 0, tone: "useful" },
    { amount: Math.max(0, done - (saved ?? 0)), tone: "unsaved" },
  ];
  const said = `${compact(done)} of ${compact(total)} ${unit} done, of which ${compact(saved)} saved`;
  return html`<section aria-labelledby="progress">
    <h2 id="progress">Progress</h2>
    <${Bar} label=${said} whole=${whole} parts=${parts} />
    <dl class="facts columns">
      <dt>Done</dt><dd>${compact(done)} / ${compact(total)} <bdi>${unit}</bdi>${progress.percent === null ? "" : ` (${percent(progress.percent)})`}</dd>
      <dt>Saved</dt><dd>${compact(saved)}${progress.lastCheckpoint ? `, ${moment(progress.lastCheckpoint)}` : ""}</dd>
      <dt>Speed</dt><dd>${compact(rate)} <bdi>${unit}</bdi> a second</dd>
      <dt>Lost</dt><dd>${compact(lost)} <bdi>${unit}</bdi></dd>
      <dt>Done by</dt><dd>${moment(progress.expectedCompletion)}</dd>
      <dt>Deadline</dt><dd>${moment(progress.deadline)}</dd>
    </dl>
  </section>`;
}

export function Rates({ rates }) {
  const most = Math.max(...rates.map(({ stated, measured }) => Math.max(stated ?? 0, measured ?? 0)));
  return html`<${Table} caption="Speed by GPU type and size" rows=${rates} keyOf=${rateKey} columns=${columns(most)} />`;
}

const rateKey = ({ type, workers, batch }) => `${type} ${workers} ${batch}`;

const columns = (most) => [
  { title: "Type", cell: ({ type }) => html`<${Name} text=${type} />` },
  { title: "Workers", number: true, cell: ({ workers }) => number(workers) },
  { title: "Batch", number: true, cell: ({ batch }) => number(batch) },
  { title: "Stated", number: true, cell: ({ stated }) => compact(stated) },
  { title: "Measured", number: true, cell: ({ measured }) => compact(measured) },
  { title: "Measured for", number: true, cell: ({ measuredSeconds }) => (measuredSeconds ? span(measuredSeconds) : "–") },
  { title: "Compared", wide: true, cell: ({ stated, measured }) => html`<${Compared} stated=${stated} measured=${measured} most=${most} />` },
];

function Compared({ stated, measured, most }) {
  const said = `measured ${compact(measured)}, stated ${compact(stated)}`;
  return html`<${Bar} label=${said} whole=${most} parts=${[{ amount: measured ?? 0, tone: "useful" }]} mark=${stated} />`;
}

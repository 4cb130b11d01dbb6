// What happened to a job, as a line and in words.
import { html } from "../../parts/html.js";
import { gpuHours, moment } from "../../parts/amounts.js";
import { Reason, Sentence } from "../../parts/words.js";
import { Table } from "../../parts/table.js";

const WIDTH = 720;
const EDGE = 10;
const TROUBLES = new Set(["Disrupted", "WorkerFailed", "LostWork", "Restarted"]);

// What a condition of a job says while it is False.
const NOT_SO = {
  Admitted: "Has no place",
  Running: "Does not run",
  Accepted: "Spec is refused",
  Degraded: "Not degraded",
  PowerCapped: "Power not limited",
  Complete: "Not complete",
  Failed: "Not failed",
  LoadKnown: "Load is not known",
  AbleToScale: "Cannot scale",
  MeetsDeadline: "Misses its deadline",
  SpotUsable: "Spot is not usable",
};

export function Life({ life }) {
  return html`
    ${life.length > 1 ? html`<${Line} life=${life} />` : null}
    <${Table} caption="What happened" rows=${life.toReversed()} keyOf=${lifeKey} columns=${COLUMNS} empty="Nothing is known yet." />
  `;
}

const lifeKey = ({ time, what, status, reason }) => `${time} ${what} ${status} ${reason}`;

// What happened, in words; an event that is no condition's has no status.
function said({ what, status }) {
  if (status === "False") return NOT_SO[what] ?? `Not: ${what}`;
  return status === "Unknown" ? `${what}: not known` : what;
}

function Line({ life }) {
  const times = life.map(({ time }) => Date.parse(time));
  const [from, to] = [times[0], Math.max(times.at(-1), times[0] + 1)];
  const x = (time) => EDGE + ((time - from) / (to - from)) * (WIDTH - 2 * EDGE);
  const inShort = `From ${moment(life[0].time)} to ${moment(life.at(-1).time)}: ${life.length} events, listed below.`;
  return html`<figure class="chart">
    <svg viewBox=${`0 0 ${WIDTH} 28`} role="img" aria-label=${inShort}>
      <line class="life-line" x1=${EDGE} x2=${WIDTH - EDGE} y1="14" y2="14" />
      ${life.map((event, index) => html`<circle key=${index} class=${`life-event ${TROUBLES.has(event.what) ? "trouble" : ""}`} cx=${x(times[index])} cy="14" r="5"><title>${said(event)} ${moment(event.time)}</title></circle>`)}
    </svg>
  </figure>`;
}

const COLUMNS = [
  { title: "When", cell: ({ time }) => html`<time datetime=${time}>${moment(time)}</time>` },
  { title: "What", cell: (event) => html`<bdi>${said(event)}</bdi>` },
  { title: "Why", wide: true, cell: ({ reason, message }) => html`<${Reason} text=${reason} /> <${Sentence} text=${message} />` },
  { title: "Lost", number: true, cell: ({ gpuSecondsLost }) => gpuHours(gpuSecondsLost) },
];

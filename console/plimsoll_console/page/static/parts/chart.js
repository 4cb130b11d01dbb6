// Lines over time, as a picture; what it shows is said in words beside it, or in a table.
import { html } from "./html.js";
import { clock, compact } from "./amounts.js";

const WIDTH = 720;
const LEFT = 44;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 20;

// `series`: a name, a tone, points of [milliseconds, value or null], and whether steps or lines.
export function Chart({ label, series, height = 140, least = 0, marker = null, unit = compact }) {
  const points = series.flatMap((each) => each.points.filter(([, value]) => value !== null));
  if (points.length < 2) return html`<p class="empty">Not enough has been seen yet.</p>`;
  const times = points.map(([time]) => time);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const top = roundedUp(Math.max(least + 1e-9, ...points.map(([, value]) => value)));
  const x = (time) => LEFT + ((time - from) / (to - from || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + (1 - (value - least) / (top - least)) * (height - TOP - BOTTOM);
  return html`<figure class="chart">
    <svg viewBox=${`0 0 ${WIDTH} ${height}`} role="img" aria-label=${label}>
      ${[0, 0.5, 1].map((share) => {
        const value = least + share * (top - least);
        return html`<g key=${share}>
          <line class="chart-grid" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(value)} y2=${y(value)} />
          <text class="chart-text" x=${LEFT - 6} y=${y(value) + 4} text-anchor="end">${unit(value)}</text>
        </g>`;
      })}
      ${series.map(({ name, tone, points: own, steps }) => html`<path key=${name} class=${`chart-line ${tone}`} d=${path(own, x, y, steps)} />`)}
      ${marker === null ? null : html`<line class="chart-marker" x1=${x(marker)} x2=${x(marker)} y1=${TOP} y2=${height - BOTTOM} />`}
      <text class="chart-text" x=${LEFT} y=${height - 5}>${clock(from)}</text>
      <text class="chart-text" x=${WIDTH - RIGHT} y=${height - 5} text-anchor="end">${clock(to)}</text>
    </svg>
    <figcaption>
      ${series.map(({ name, tone }) => html`<span key=${name} class="legend-item"><span class=${`swatch line ${tone}`}></span>${name}</span>`)}
    </figcaption>
  </figure>`;
}

// The next of 1, 2, 4, 5, 6, 8, 10 and so on: its half is a round number too.
function roundedUp(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 6, 8, 10].find((step) => step * size >= value * (1 - 1e-9)) * size;
}

function path(points, x, y, steps) {
  let drawn = "";
  let open = false;
  for (const [time, value] of points) {
    if (value === null) {
      open = false;
      continue;
    }
    if (!open) drawn += `M${x(time)} ${y(value)}`;
    else drawn += steps ? `H${x(time)}V${y(value)}` : `L${x(time)} ${y(value)}`;
    open = true;
  }
  return drawn;
}

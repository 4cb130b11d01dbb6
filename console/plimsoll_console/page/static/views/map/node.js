// A node on the map: its name, and each GPU as a cell.
import { html } from "../../parts/html.js";
import { nodeText } from "./colours.js";

const WHOLE = 1000;

export function Node({ node, colours, ghosts, isStop }) {
  const leaving = new Set(ghosts.filter(({ change }) => change === "Leaves").map(({ job }) => job));
  const arriving = arrivals(node, ghosts);
  return html`<li>
    <button class=${`node ${node.state.toLowerCase()}`} data-node=${node.key} tabindex=${isStop ? 0 : -1} aria-label=${nodeText(node)}>
      <bdi class="node-name">${node.name ?? "·"}</bdi>
      <span class="cells">
        ${node.cells.map((cell, index) =>
          arriving.has(index)
            ? html`<span key=${index} class="cell ghost" data-job=${arriving.get(index)}></span>`
            : html`<${Cell} key=${index} cell=${cell} before=${node.cells[index - 1]} node=${node} colours=${colours} leaving=${leaving} />`,
        )}
      </span>
    </button>
  </li>`;
}

// Which free cell awaits which job.
function arrivals(node, ghosts) {
  const jobs = ghosts
    .filter(({ change }) => change === "Arrives")
    .flatMap(({ job, gpusMilli }) => Array(Math.ceil(gpusMilli / WHOLE)).fill(job));
  const free = node.cells.flatMap(({ holdings }, index) => (holdings.length ? [] : [index]));
  return new Map(free.slice(0, jobs.length).map((index, at) => [index, jobs[at]]));
}

function Cell({ cell, before, node, colours, leaving }) {
  const held = cell.holdings.reduce((sum, { milli }) => sum + milli, 0);
  const [only] = cell.holdings;
  if (!only) return html`<span class=${`cell ${colours.free(node)}`}></span>`;
  if (cell.holdings.length === 1 && held >= WHOLE) {
    const joined = isOneJob(before, only) ? " joined" : "";
    return html`<span class=${classes(only, node, colours, leaving) + joined} data-job=${only.job ?? undefined}></span>`;
  }
  return html`<span class=${`cell shared ${colours.free(node)}`}>
    ${cell.holdings.map(
      (holding, index) =>
        html`<span
          key=${index}
          class=${classes(holding, node, colours, leaving).replace("cell", "part")}
          data-job=${holding.job ?? undefined}
          style=${{ height: `${holding.milli / (WHOLE / 100)}%` }}
        ></span>`,
    )}
  </span>`;
}

function isOneJob(before, { by, job, phase }) {
  const [other] = before?.holdings ?? [];
  return by === "job" && other?.job === job && other.milli >= WHOLE && other.phase === phase && phase === "Running";
}

function classes(holding, node, colours, leaving) {
  const goes = holding.phase === "Going" || (holding.by === "job" && leaving.has(holding.job));
  const phase = goes ? " going" : holding.phase === "Coming" ? " coming" : "";
  return `cell ${colours.held(holding, node)}${phase}`;
}

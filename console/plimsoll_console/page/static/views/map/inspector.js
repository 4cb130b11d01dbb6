// What is known of the node that has the focus or the pointer.
import { html } from "../../parts/html.js";
import { gpus, percent, watts } from "../../parts/amounts.js";
import { JobLink, Name, Reason, Sentence } from "../../parts/words.js";
import { heldMilli, stateText } from "./colours.js";

export function Inspector({ node, map, ghosts }) {
  if (!node) {
    return html`<aside class="inspector" aria-label="The node that is chosen">
      <p class="dim">Point at a node, or go from one to the next with the arrow keys. Enter leads to what runs there.</p>
    </aside>`;
  }
  return html`<aside class="inspector" aria-label="The node that is chosen" tabindex="-1">
    <h2><${Name} text=${node.name} none="A node that is not shown to you" /></h2>
    <dl class="facts">
      <dt>State</dt>
      <dd>${stateText(node)} <${Reason} text=${node.reason} /></dd>
      <dt>Type</dt>
      <dd><${Name} text=${node.type} /></dd>
      <dt>Pool</dt>
      <dd><${Name} text=${node.pool} none="–" />${node.spot ? html` <span class="chip">spot</span>` : null}</dd>
      <dt>Held</dt>
      <dd>${gpus(heldMilli(node))} of ${node.cells.length} GPUs</dd>
      ${node.capWatts === null ? null : html`<dt>Limit</dt><dd>${watts(node.capWatts)} a GPU</dd>`}
    </dl>
    ${node.message ? html`<p><${Sentence} text=${node.message} /></p>` : null}
    <h3>Held by</h3>
    <ul class="holders">${holders(node).map((each) => html`<${Holder} key=${each.key} held=${each} map=${map} />`)}</ul>
    ${ghosts.length
      ? html`<h3>About to change</h3>
          <ul class="holders">
            ${ghosts.map(({ job, change, gpusMilli, reason }) => html`<li key=${`${change}${job}`}>${change} <${JobLink} job=${map.jobs[job].key} /> ${gpus(gpusMilli)} GPUs <${Reason} text=${reason} /></li>`)}
          </ul>`
      : null}
  </aside>`;
}

function Holder({ held, map }) {
  if (held.by === "free") return html`<li class="dim">${gpus(held.milli)} free</li>`;
  if (held.by !== "job") {
    return html`<li>${gpus(held.milli)} <span class="dim">${held.by === "taken" ? "by jobs not shown to you" : "by pods that are not Plimsoll's"}</span></li>`;
  }
  const job = map.jobs[held.job];
  return html`<li>
    ${gpus(held.milli)} <${JobLink} job=${job.key} />
    <span class="more dim">
      <${Name} text=${job.queue} />${job.watts === null ? "" : ` · ${watts(job.watts)} a GPU`}${job.wastePercent ? ` · ${percent(job.wastePercent)} waste, ${job.wasteReason}` : ""}
    </span>
  </li>`;
}

// How much each holds of the node, and how much is free.
export function holders(node) {
  const sums = new Map();
  for (const { holdings } of node.cells) {
    for (const { by, job = null, milli } of holdings) {
      const key = `${by} ${job}`;
      sums.set(key, { key, by, job, milli: (sums.get(key)?.milli ?? 0) + milli });
    }
  }
  const free = node.cells.length * 1000 - heldMilli(node);
  return free > 0 ? [...sums.values(), { key: "free", by: "free", milli: free }] : [...sums.values()];
}

// Nodes that are together: one by one, or in a large cluster as one tile that opens.
import { html } from "../../parts/html.js";
import { gpus, number } from "../../parts/amounts.js";
import { Bar } from "../../parts/bar.js";
import { Name } from "../../parts/words.js";
import { addressOf } from "../../app/routes.js";
import { Node } from "./node.js";

const NARROW = 40; // more nodes than that are laid out in columns

export function Group({ group, colours, ghosts, stop }) {
  const wide = group.nodes.length > NARROW ? " wide" : "";
  return html`<section class=${`group${wide}`} aria-label=${groupText(group)}>
    <${Heading} group=${group} />
    <ul class="nodes">
      ${group.nodes.map((node) => html`<${Node} key=${node.key} node=${node} colours=${colours} ghosts=${ghosts.get(node.key) ?? []} isStop=${node.key === stop} />`)}
    </ul>
  </section>`;
}

export function Tile({ group, isStop }) {
  const troubled = troubles(group.counts);
  return html`<li>
    <a class="tile" href=${addressOf("map", group.key)} data-node=${group.key} tabindex=${isStop ? 0 : -1}>
      <${Heading} group=${group} />
      <${Bar} label=${countsText(group.counts)} whole=${total(group.counts)} parts=${shares(group.counts)} />
      ${troubled.length ? html`<span class="tile-states" aria-hidden="true">${troubled.map((text) => html`<span key=${text} class="chip">${text}</span>`)}</span>` : null}
    </a>
  </li>`;
}

function Heading({ group }) {
  const { counts } = group;
  return html`<header class="group-heading">
    <h2>${group.name === null ? html`<span class="dim">${group.kind}</span>` : html`<${Name} text=${group.name} />`}</h2>
    <span class="dim" aria-hidden="true">${gpus(heldOf(counts))} / ${gpus(total(counts))}</span>
  </header>`;
}

const heldOf = ({ jobMilli, takenMilli, otherMilli }) => jobMilli + takenMilli + otherMilli;
const total = (counts) => heldOf(counts) + counts.freeMilli + counts.unusableMilli;

const shares = ({ jobMilli, takenMilli, otherMilli, unusableMilli }) => [
  { amount: jobMilli, tone: "useful" },
  { amount: takenMilli, tone: "taken" },
  { amount: otherMilli, tone: "other" },
  { amount: unusableMilli, tone: "unusable" },
];

const groupText = ({ name, kind, counts }) => `${kind} ${name ?? ""}: ${countsText(counts)}`;

function countsText(counts) {
  const held = `${gpus(heldOf(counts))} of ${gpus(total(counts))} GPUs held`;
  return [`${number(counts.nodes)} nodes`, held, ...troubles(counts)].join(", ");
}

const SAID = { Closed: "closed", Leaving: "leaving", Quarantined: "quarantined", NotReady: "not ready", Coming: "on their way" };

function troubles({ states }) {
  return Object.entries(SAID)
    .filter(([state]) => states[state])
    .map(([state, said]) => `${number(states[state])} ${said}`);
}

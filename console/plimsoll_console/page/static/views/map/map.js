// All GPUs: who holds which, and what is about to change.
import { useEffect, useMemo, useRef, useState } from "../../vendor/hooks.js";
import { html } from "../../parts/html.js";
import { Choice } from "../../parts/choice.js";
import { Loaded } from "../../parts/loaded.js";
import { Name, jobAddress } from "../../parts/words.js";
import { addressOf } from "../../app/routes.js";
import { useLive } from "../../server/live.js";
import { colouring, MODES } from "./colours.js";
import { Group, Tile } from "./group.js";
import { Inspector } from "./inspector.js";
import { GroupTable, NodeTable } from "./node_table.js";
import { walk } from "./walking.js";

const SHAPES = [
  ["picture", "Picture"],
  ["table", "Table"],
];

export function MapView({ parts: [group] }) {
  const path = group === undefined ? "map" : `map/groups/${encodeURIComponent(group)}`;
  const found = useLive(path);
  const [mode, colourBy] = useState("job");
  const [shape, showAs] = useState("picture");
  return html`<${Loaded} found=${found}>
    ${(map) => html`
      <div class="tools">
        ${group === undefined ? null : html`<a class="back" href=${addressOf("map")}>All groups</a> <span class="dim"><${Name} text=${map.groups[0]?.name ?? ""} /></span>`}
        ${map.aggregated ? null : html`<${Choice} name="mode" label="Colour by" options=${MODES} value=${mode} onChange=${colourBy} />`}
        <${Choice} name="shape" label="Show as" options=${SHAPES} value=${shape} onChange=${showAs} />
      </div>
      ${shape === "table"
        ? map.aggregated
          ? html`<${GroupTable} map=${map} />`
          : html`<${NodeTable} map=${map} />`
        : map.aggregated
          ? html`<${Tiles} map=${map} />`
          : html`<${Nodes} map=${map} mode=${mode} />`}
    `}
  <//>`;
}

function Tiles({ map }) {
  const [stop, stopAt] = useState(map.groups[0]?.key);
  return html`<ul class="tiles" onKeyDown=${(event) => walk(event, ".tile")} onFocusIn=${(event) => stopAt(event.target.closest(".tile")?.dataset.node)}>
    ${map.groups.map((group) => html`<${Tile} key=${group.key} group=${group} isStop=${group.key === stop} />`)}
  </ul>`;
}

function Nodes({ map, mode }) {
  const root = useRef(null);
  const [chosen, choose] = useState(null);
  const [lit, light] = useState(null);
  const colours = useMemo(() => colouring(mode, map), [mode, map]);
  const ghosts = useMemo(() => Map.groupBy(map.ghosts, ({ node }) => node), [map]);
  const nodes = useMemo(() => new Map(map.groups.flatMap((group) => group.nodes.map((node) => [node.key, node]))), [map]);
  const node = nodes.get(chosen) ?? null;
  const stop = node ? chosen : nodes.keys().next().value;
  useLit(root, lit, map);
  if (!nodes.size) return html`<p class="empty">There are no nodes with GPUs.</p>`;
  const point = (event) => {
    const key = event.target.closest(".node")?.dataset.node;
    if (key !== undefined) choose(key);
    light(event.target.dataset?.job ?? null);
  };
  const open = (event) => {
    const job = event.target.dataset?.job;
    if (job !== undefined) location.hash = jobAddress(map.jobs[job].key);
    else if (event.target.closest(".node")) (root.current.querySelector(".inspector a") ?? root.current.querySelector(".inspector")).focus();
  };
  return html`<div class="map" ref=${root}>
    <div class="map-picture">
      <${Legend} legend=${colours.legend} />
      <div class="groups" onPointerOver=${point} onPointerLeave=${() => light(null)} onFocusIn=${point} onClick=${open} onKeyDown=${(event) => walk(event, ".node")}>
        ${map.groups.map((group) => html`<${Group} key=${group.key} group=${group} colours=${colours} ghosts=${ghosts} stop=${stop} />`)}
      </div>
    </div>
    <${Inspector} node=${node} map=${map} ghosts=${node ? (ghosts.get(node.key) ?? []) : []} />
  </div>`;
}

// Shows where else a job is. Done by hand: a thousand cells need not be compared for a pointer.
function useLit(root, job, map) {
  useEffect(() => {
    if (job === null) return undefined;
    const found = root.current?.querySelectorAll(`[data-job="${job}"]`) ?? [];
    for (const cell of found) cell.toggleAttribute("data-lit", true);
    return () => {
      for (const cell of found) cell.toggleAttribute("data-lit", false);
    };
  }, [job, map]);
}

function Legend({ legend }) {
  return html`<ul class="legend" aria-label="Colours">
    ${legend.map(({ tone, word }) => html`<li key=${`${tone}${word}`} class="legend-item"><span class=${`swatch cell ${tone}`}></span><bdi class="name">${word}</bdi></li>`)}
    <li class="legend-item"><span class="swatch cell going c0"></span>leaves</li>
    <li class="legend-item"><span class="swatch cell ghost"></span>arrives</li>
  </ul>`;
}

// The map as a table, for those to whom a picture says nothing.
import { html } from "../../parts/html.js";
import { gpus, number } from "../../parts/amounts.js";
import { JobLink, Name, Reason } from "../../parts/words.js";
import { Table } from "../../parts/table.js";
import { addressOf } from "../../app/routes.js";
import { heldMilli, stateText } from "./colours.js";
import { holders } from "./inspector.js";

export function NodeTable({ map }) {
  const rows = map.groups.flatMap((group) => group.nodes.map((node) => ({ node, group })));
  return html`<${Table} caption="Nodes" rows=${rows} keyOf=${({ node }) => node.key} columns=${columns(map)} empty="There are no nodes with GPUs." />`;
}

const columns = (map) => [
  { title: "Node", cell: ({ node }) => html`<${Name} text=${node.name} />` },
  { title: "Group", cell: ({ group }) => html`<${Name} text=${group.name} none="–" />` },
  { title: "State", cell: ({ node }) => html`${stateText(node)} <${Reason} text=${node.reason} />` },
  { title: "Type", cell: ({ node }) => html`<${Name} text=${node.type} />` },
  { title: "GPUs", number: true, cell: ({ node }) => number(node.cells.length) },
  { title: "Held", number: true, cell: ({ node }) => gpus(heldMilli(node)) },
  {
    title: "Jobs",
    cell: ({ node }) =>
      holders(node)
        .filter(({ by }) => by === "job")
        .map(({ key, job }) => html`<${JobLink} key=${key} job=${map.jobs[job].key} /> `),
  },
];

export function GroupTable({ map }) {
  return html`<${Table} caption="Groups of nodes" rows=${map.groups} keyOf=${({ key }) => key} columns=${GROUP_COLUMNS} empty="There are no nodes with GPUs." />`;
}

const GROUP_COLUMNS = [
  { title: "Group", cell: ({ key, name, kind }) => html`<a href=${addressOf("map", key)}>${kind} <${Name} text=${name} none="" /></a>` },
  { title: "Nodes", number: true, cell: ({ counts }) => number(counts.nodes) },
  { title: "By jobs", number: true, cell: ({ counts }) => gpus(counts.jobMilli) },
  { title: "Taken by others", number: true, cell: ({ counts }) => gpus(counts.takenMilli) },
  { title: "Other pods", number: true, cell: ({ counts }) => gpus(counts.otherMilli) },
  { title: "Unusable", number: true, cell: ({ counts }) => gpus(counts.unusableMilli) },
  { title: "Free", number: true, cell: ({ counts }) => gpus(counts.freeMilli) },
];

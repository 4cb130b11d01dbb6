// What each queue uses, against what it is guaranteed and limited to.
import { html } from "../../parts/html.js";
import { compact, number } from "../../parts/amounts.js";
import { Bar } from "../../parts/bar.js";
import { Name, Reason } from "../../parts/words.js";
import { Table } from "../../parts/table.js";

export function Queues({ queues }) {
  const rows = queues.flatMap((queue) => (queue.quotas.length ? queue.quotas : [null]).map((quota) => ({ queue, quota })));
  return html`<${Table} caption="Queues" rows=${rows} keyOf=${({ queue, quota }) => `${queue.name} ${quota?.type}`} columns=${COLUMNS} empty="There are no queues, or they are not shown to you." />`;
}

const COLUMNS = [
  { title: "Queue", cell: ({ queue }) => html`<${Name} text=${queue.name} />${queue.active ? "" : html` <${Reason} text=${queue.reason} />`}` },
  { title: "Under", cell: ({ queue }) => html`<${Name} text=${queue.parent} none="–" />` },
  { title: "Run", number: true, cell: ({ queue }) => number(queue.admitted) },
  { title: "Wait", number: true, cell: ({ queue }) => number(queue.pending) },
  { title: "Type", cell: ({ quota }) => html`<${Name} text=${quota?.type} none="–" />` },
  { title: "Use", wide: true, cell: ({ quota }) => (quota ? html`<${Use} quota=${quota} />` : "–") },
  { title: "GPUs", number: true, cell: ({ quota }) => compact(quota?.used) },
  { title: "Guaranteed", number: true, cell: ({ quota }) => compact(quota?.guaranteed) },
  { title: "Limit", number: true, cell: ({ quota }) => compact(quota?.limit) },
  { title: "Fair share", number: true, cell: ({ quota }) => compact(quota?.fairShare) },
];

function Use({ quota }) {
  const whole = quota.limit ?? Math.max(quota.used, quota.guaranteed, quota.fairShare, 1);
  const own = Math.max(0, quota.used - quota.borrowed);
  const said = `${compact(quota.used)} GPUs used, of which ${compact(quota.borrowed)} borrowed; ${compact(quota.guaranteed)} guaranteed`;
  const parts = [
    { amount: own, tone: "useful" },
    { amount: quota.borrowed, tone: "borrowed" },
  ];
  return html`<${Bar} label=${said} whole=${whole} parts=${parts} mark=${quota.guaranteed} />`;
}

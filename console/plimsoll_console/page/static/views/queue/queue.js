// Who waits, for what and why; and the queues they wait in.
import { useState } from "../../vendor/hooks.js";
import { html } from "../../parts/html.js";
import { gpus, number } from "../../parts/amounts.js";
import { Loaded } from "../../parts/loaded.js";
import { JobLink, jobText, Name, Reason, Sentence, Since } from "../../parts/words.js";
import { Table } from "../../parts/table.js";
import { useNow } from "../../server/clock.js";
import { useLive } from "../../server/live.js";
import { Explain } from "./explain.js";
import { Queues } from "./queues.js";
import { WhatIf } from "./what_if.js";

export function QueueView({ cluster }) {
  const waiting = useLive("queue");
  const queues = useLive("queues");
  const now = useNow();
  const [asked, ask] = useState(null);
  const close = () => ask(null);
  return html`
    <section aria-labelledby="waiting">
      <h2 id="waiting">Waiting</h2>
      <${Loaded} found=${waiting}>
        ${(line) => html`
          <${Table} caption="Jobs that wait" rows=${line.jobs} keyOf=${({ key }) => jobText(key)} columns=${columns(now, ask)} empty=${line.others ? "None of the jobs shown to you waits." : "No job waits."} />
          ${line.others ? html`<p class="dim">${number(line.others)} more, not shown to you, wait for at least ${gpus(line.othersMilli)} GPUs.</p>` : null}
        `}
      <//>
    </section>
    <section aria-labelledby="queues">
      <h2 id="queues">Queues</h2>
      <${Loaded} found=${queues}>${(message) => html`<${Queues} queues=${message.queues} />`}<//>
    </section>
    ${asked?.what === "explain" ? html`<${Explain} job=${asked.job} onClose=${close} />` : null}
    ${asked?.what === "whatif" ? html`<${WhatIf} job=${asked.job} asked=${asked.asked} types=${cluster?.types ?? []} queues=${queues.data?.queues ?? []} onClose=${close} />` : null}
  `;
}

const columns = (now, ask) => [
  { title: "#", number: true, cell: ({ position }) => number(position) },
  { title: "Job", cell: ({ key }) => html`<${JobLink} job=${key} />` },
  { title: "Queue", cell: ({ queue }) => html`<${Name} text=${queue} />` },
  { title: "Priority", number: true, cell: ({ priority }) => number(priority) },
  { title: "Asks for", cell: ({ asked }) => html`<${Asks} asked=${asked} />` },
  { title: "Waits", number: true, cell: ({ since }) => html`<${Since} time=${since} now=${now} />` },
  { title: "Starts", number: true, cell: ({ expectedStart }) => html`<${Since} time=${expectedStart} now=${now} until />` },
  { title: "Because", wide: true, cell: ({ reason, message }) => html`<${Reason} text=${reason} /> <${Sentence} text=${message} />` },
  {
    title: "Ask",
    cell: ({ key, asked }) => html`<span class="buttons">
      <button onClick=${() => ask({ what: "explain", job: key })} aria-label=${`Explain ${jobText(key)}`}>Explain</button>
      <button onClick=${() => ask({ what: "whatif", job: key, asked })} aria-label=${`What if ${jobText(key)} were different`}>What if</button>
    </span>`,
  },
];

export function Asks({ asked }) {
  return asked.map(({ role, least, most, milliPerPod, types }) => {
    const pods = least === most ? number(least) : `${number(least)}–${number(most)}`;
    return html`<div key=${role} class="asks">${pods} × ${gpus(milliPerPod)} GPUs <span class="dim"><bdi class="name" title=${types.join(", ")}>${types.join(", ")}</bdi></span></div>`;
  });
}

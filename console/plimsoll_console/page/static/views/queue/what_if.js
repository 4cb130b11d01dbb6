// What would change if a job were different: who would move, and what it would cost.
import { useState } from "../../vendor/hooks.js";
import { html } from "../../parts/html.js";
import { compact, dollars, number, span, watts } from "../../parts/amounts.js";
import { Sheet } from "../../parts/sheet.js";
import { Table } from "../../parts/table.js";
import { Name, NamedJob } from "../../parts/words.js";
import { Answer, useAnswer } from "./asking.js";
import { Places, Why } from "./why.js";

export function WhatIf({ job, asked, types, queues, onClose }) {
  const [message, ask] = useState(null);
  const answer = useAnswer("whatif", message);
  const submit = (event) => {
    event.preventDefault();
    ask(edited(job, asked, new FormData(event.target)));
  };
  return html`<${Sheet} title=${html`What if <${Name} text=${job.name} /> were different?`} onClose=${onClose}>
    <form class="what-if" onSubmit=${submit}>
      ${asked.map((each) => html`<${Size} key=${each.role} asked=${each} />`)}
      <fieldset>
        <legend>GPU types</legend>
        ${types.map(({ type }) => html`<label key=${type} class="check"><input type="checkbox" name="type" value=${type} defaultChecked=${asked.some((each) => each.types.includes(type))} /><${Name} text=${type} /></label>`)}
      </fieldset>
      <label>PriorityClass<input name="priority" autocomplete="off" placeholder="as it is" /></label>
      <label>Queue
        <select name="queue">
          <option value="">as it is</option>
          ${queues.map(({ name }) => html`<option key=${name} value=${name}>${name}</option>`)}
        </select>
      </label>
      <button type="submit" class="primary">Ask</button>
      <p class="dim">Nothing is changed: the cluster is planned once more, as it is now.</p>
    </form>
    <${Answer} answer=${answer}>${(found) => html`<${Outcome} found=${found} />`}<//>
  <//>`;
}

function Size({ asked: { role, least, most } }) {
  return html`<fieldset class="size">
    <legend><${Name} text=${role} /></legend>
    <label>at least<input type="number" name=${`min ${role}`} min="0" step="1" defaultValue=${least} required /></label>
    <label>at most<input type="number" name=${`max ${role}`} min="1" step="1" defaultValue=${most} required /></label>
  </fieldset>`;
}

// The question; what is as it was is left out.
function edited(job, asked, form) {
  const roles = asked
    .map(({ role }) => ({ name: role, min: Number(form.get(`min ${role}`)), max: Number(form.get(`max ${role}`)) }))
    .filter(({ min, max }, index) => min !== asked[index].least || max !== asked[index].most);
  const before = new Set(asked.flatMap(({ types }) => types));
  const types = form.getAll("type");
  const isSame = types.length === before.size && types.every((type) => before.has(type));
  const message = { kind: job.kind, namespace: job.namespace, name: job.name, roles };
  if (!isSame && types.length) message.types = types;
  if (form.get("priority").trim()) message.priorityClassName = form.get("priority").trim();
  if (form.get("queue")) message.queue = form.get("queue");
  return message;
}

function Outcome({ found: { simulation, hidden, hiddenGpuHoursLost } }) {
  return html`
    ${simulation.applied.map(
      ({ why, starts, cost }) =>
        html`<section key=${why.job.name} class="outcome">
          <h3>It would start ${starts}</h3>
          ${cost ? html`<p>${cost.dollarsPerHour === null ? "" : `${dollars(cost.dollarsPerHour)} an hour, `}${watts(cost.watts)}${cost.seconds === null ? "" : `, for ${span(cost.seconds)}`}${cost.dollars === null ? "" : `: ${dollars(cost.dollars)} in all`}.</p>` : null}
          <${Why} why=${why} />
        </section>`,
    )}
    <h3>Who would move</h3>
    <${Table} caption="Jobs that would move" rows=${simulation.others} keyOf=${({ job }) => job} columns=${COLUMNS} empty="Nobody shown to you." />
    ${hidden ? html`<p>${number(hidden)} jobs that are not shown to you would move, and lose ${compact(hiddenGpuHoursLost)} GPU-hours of work.</p>` : null}
    <p>${compact(simulation.gpuHoursLost)} GPU-hours of work would be lost in total.</p>
  `;
}

const COLUMNS = [
  { title: "Job", cell: ({ job }) => html`<${NamedJob} text=${job} />` },
  { title: "Priority", number: true, cell: ({ priority }) => number(priority) },
  { title: "Fate", cell: ({ fate }) => fate },
  { title: "Now", cell: ({ before }) => html`<${Places} places=${before} />` },
  { title: "Then", cell: ({ after }) => html`<${Places} places=${after} />` },
  { title: "GPU-hours lost", number: true, cell: ({ gpuHoursLost }) => compact(gpuHoursLost) },
];

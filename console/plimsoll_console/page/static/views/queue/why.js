// Why a job waits, and what would let it run: proven by planning.
import { html } from "../../parts/html.js";
import { compact, moment, number } from "../../parts/amounts.js";
import { Name, NamedJob, Reason, Sentence } from "../../parts/words.js";

export function Why({ why }) {
  const { job, remedies, givingWay, earliestStart } = why;
  return html`
    <p><strong>${job.action}</strong> <${Reason} text=${job.reason} /> <${Sentence} text=${job.message} /></p>
    ${job.place.length ? html`<p>${job.action === "Admit" ? "Is to run on" : "Runs on"} <${Places} places=${job.place} />.</p>` : null}
    ${job.missing ? html`<p>No room for <${Sentence} text=${job.missing} />.</p>` : null}
    ${job.purchase ? html`<p><${Sentence} text=${job.purchase.message} /></p>` : null}
    ${remedies.length ? html`<${Remedies} remedies=${remedies} />` : null}
    ${givingWay ? html`<${GivingWay} gives=${givingWay} />` : null}
    ${earliestStart ? html`<${Start} start=${earliestStart} />` : null}
  `;
}

function Remedies({ remedies }) {
  return html`<h3>What would let it run</h3>
    <p class="dim">${remedies.length > 1 ? "Each of these is enough" : "This is enough"}, and no part of it is: verified by planning.</p>
    <ul>
      ${remedies.map(
        ({ changes, place, displaced, othersStay }, index) =>
          html`<li key=${index}>
            ${changes.length ? changes.map((change, at) => html`${at ? " and " : ""}<${Sentence} key=${at} text=${change} />`) : displaced.length ? "let others move" : "nothing: there is room for it"}
            ${place.length ? html`<div class="dim">Then it runs on <${Places} places=${place} />${displaced.length ? html`; ${displaced.map((name, at) => html`${at ? ", " : ""}<${Name} key=${name} text=${name} />`)} must move or stop` : ""}${othersStay ? ", if the others stay where they are" : ""}.</div>` : null}
          </li>`,
      )}
    </ul>`;
}

function GivingWay({ gives }) {
  return html`<h3>Who would have to give way</h3>
    <p class="dim">At priority ${number(gives.priority)}${gives.pays && gives.gpuHoursAllowed === null ? " it would run at once" : ", and even then this would not be done: what is gained is too little"}.</p>
    <ul>
      ${gives.losses.map(
        ({ job, priority, stops, gpus, gpuHoursLost }) =>
          html`<li key=${job}><${NamedJob} text=${job} /> (priority ${number(priority)}) would ${stops ? "stop" : "move or shrink"}: ${compact(gpus)} GPUs, ${compact(gpuHoursLost)} GPU-hours of work lost</li>`,
      )}
    </ul>
    <p>${compact(gives.gpuHoursLost)} GPU-hours of work would be lost in total.</p>`;
}

function Start({ start }) {
  return html`<h3>Earliest start</h3>
    <p>${start.after.length ? html`${moment(start.at)}, when ${start.after.map((name, at) => html`${at ? ", " : ""}<${Name} key=${name} text=${name} />`)} should have ended.` : "Now."}
    ${start.inTurnAt === null ? " Other jobs that wait go first; when its turn comes is not known." : start.inTurnAt > start.at ? ` Others go first; its turn comes at ${moment(start.inTurnAt)}.` : ""}</p>`;
}

export function Places({ places }) {
  if (!places.length) return "–";
  return places.map(
    ({ role, acceleratorType, gpus, nodes }, index) =>
      html`<span key=${`${role}${acceleratorType}`}>${index ? "; " : ""}${compact(gpus)} × <${Name} text=${acceleratorType} /> <span class="dim">(${nodesText(nodes)})</span></span>`,
  );
}

const MOST_NODES = 4;

function nodesText(nodes) {
  const names = Object.keys(nodes);
  const rest = names.length - MOST_NODES;
  return names.slice(0, MOST_NODES).map((name, at) => html`${at ? ", " : ""}<${Name} key=${name} text=${name} />`).concat(rest > 0 ? [` and ${rest} more`] : []);
}

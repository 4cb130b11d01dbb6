// Words that come from users: shown as text, apart from the direction of what is around them.
import { html } from "./html.js";
import { addressOf } from "../app/routes.js";
import { moment, span } from "./amounts.js";

export function Name({ text, none = "not shown to you" }) {
  if (text === null || text === undefined) return html`<span class="dim">${none}</span>`;
  return html`<bdi class="name" title=${text}>${text}</bdi>`;
}

export const jobText = ({ kind, namespace, name }) => `${kind} ${namespace}/${name}`;
export const jobAddress = ({ kind, namespace, name }) => addressOf("jobs", kind, namespace, name);

export function JobLink({ job }) {
  return html`<a class="job-link" href=${jobAddress(job)} title=${jobText(job)}>
    <span class=${`kind ${job.kind === "InferenceJob" ? "serves" : "trains"}`} aria-hidden="true"></span>
    <bdi class="name">${job.name}</bdi> <bdi class="name dim">${job.namespace}</bdi></a>`;
}

// The job that an answer names as `Kind/namespace/name`, or what it says in place of one.
export function NamedJob({ text }) {
  const [kind, namespace, name, ...rest] = text.split("/");
  if (!name || rest.length) return html`<${Name} text=${text} />`;
  return html`<${JobLink} job=${{ kind, namespace, name }} />`;
}

// A sentence of the operator's, which may name what users named.
export function Sentence({ text }) {
  return html`<bdi class="sentence" title=${text}>${text}</bdi>`;
}

export function Reason({ text }) {
  return text ? html`<bdi class="chip">${text}</bdi>` : null;
}

export function Since({ time, now, until = false }) {
  if (!time) return html`<span class="dim">–</span>`;
  const seconds = (now - Date.parse(time)) / 1000;
  const said = until ? (seconds > 0 ? "now" : `in ${span(-seconds)}`) : span(seconds);
  return html`<time datetime=${time} title=${moment(time)}>${said}</time>`;
}

// What is shown until a view has come, and when it does not come.
import { html } from "./html.js";
import { Sentence } from "./words.js";

export function Loaded({ found, children }) {
  const { data, error } = found;
  return html`
    ${error ? html`<${Problems} error=${error} />` : null}
    ${data ? children(data) : error ? null : html`<p class="empty" aria-busy="true">Loading…</p>`}
  `;
}

export function Problems({ error }) {
  const problems = error.problems ?? ["The console does not answer. The page tries again by itself."];
  return html`<div class="problem" role="alert">
    ${problems.map((text) => html`<p key=${text}><${Sentence} text=${text} /></p>`)}
  </div>`;
}

// A bar of parts, each as wide as its share of the whole; `label` says it in words.
import { html } from "./html.js";

export function Bar({ parts, whole, label, mark = null }) {
  const wide = (amount) => `${Math.max(0, Math.min(100, (100 * amount) / (whole || 1)))}%`;
  return html`<div class="bar" role="img" aria-label=${label} title=${label}>
    ${parts
      .filter(({ amount }) => amount > 0)
      .map(({ amount, tone }) => html`<span key=${tone} class=${`bar-part ${tone}`} style=${{ width: wide(amount) }}></span>`)}
    ${mark === null ? null : html`<span class="bar-mark" style=${{ left: wide(mark) }}></span>`}
  </div>`;
}

// The answer to "why does it wait?".
import { useMemo } from "../../vendor/hooks.js";
import { html } from "../../parts/html.js";
import { number } from "../../parts/amounts.js";
import { Sheet } from "../../parts/sheet.js";
import { Name } from "../../parts/words.js";
import { Answer, useAnswer } from "./asking.js";
import { Why } from "./why.js";

export function Explain({ job, onClose }) {
  const message = useMemo(() => ({ kind: job.kind, namespace: job.namespace, name: job.name }), [job]);
  const answer = useAnswer("explain", message);
  return html`<${Sheet} title=${html`Why <${Name} text=${job.name} /> waits`} onClose=${onClose}>
    <${Answer} answer=${answer}>
      ${({ why, hidden }) => html`<${Why} why=${why} />${hidden ? html`<p class="dim">${number(hidden)} jobs that are not shown to you are left out.</p>` : null}`}
    <//>
  <//>`;
}

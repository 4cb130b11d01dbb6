// Power domains: what is drawn, expected and allowed, and who pays for a cap.
import { html } from "../parts/html.js";
import { number, watts } from "../parts/amounts.js";
import { Bar } from "../parts/bar.js";
import { Loaded } from "../parts/loaded.js";
import { JobLink, jobText, Name, Reason, Sentence } from "../parts/words.js";
import { useLive } from "../server/live.js";

export function PowerView() {
  return html`<${Loaded} found=${useLive("power")}>
    ${({ domains }) =>
      domains.length
        ? html`<ul class="domains">${domains.map((domain) => html`<${Domain} key=${domain.name} domain=${domain} />`)}</ul>`
        : html`<p class="empty">There are no power domains, or they are not shown to you.</p>`}
  <//>`;
}

function Domain({ domain }) {
  const most = Math.max(domain.budgetWatts, domain.expectedWatts, domain.measuredWatts ?? 0, domain.plannedWatts);
  const drawn = domain.measuredWatts ?? domain.expectedWatts;
  const tone = drawn > domain.budgetWatts ? "over" : "useful";
  return html`<li class="card">
    <header>
      <h2><${Name} text=${domain.name} /></h2>
      ${domain.withinBudget === false ? html`<${Reason} text=${domain.reason} />` : null}
    </header>
    <dl class="measures">
      <${Measure} title="Measured" amount=${domain.measuredWatts} most=${most} budget=${domain.budgetWatts} tone=${tone} />
      <${Measure} title="Expected" amount=${domain.expectedWatts} most=${most} budget=${domain.budgetWatts} tone="expected" />
      <${Measure} title="Planned" amount=${domain.plannedWatts} most=${most} budget=${domain.budgetWatts} tone="expected" />
    </dl>
    <p>Budget <strong>${watts(domain.budgetWatts)}</strong> for ${number(domain.nodes)} nodes${domain.cappedNodes ? `; ${number(domain.cappedNodes)} have a lower limit, which saves ${watts(domain.cappedWatts)}` : ""}.</p>
    ${domain.message ? html`<p><${Sentence} text=${domain.message} /></p>` : null}
    ${domain.payers.length || domain.others
      ? html`<h3>Slower for it</h3>
          <ul class="holders">
            ${domain.payers.map((job) => html`<li key=${jobText(job)}><${JobLink} job=${job} /></li>`)}
            ${domain.others ? html`<li class="dim">${number(domain.others)} not shown to you</li>` : null}
          </ul>`
      : null}
  </li>`;
}

function Measure({ title, amount, most, budget, tone }) {
  const said = `${title}: ${watts(amount)} of a budget of ${watts(budget)}`;
  return html`<div>
    <dt>${title}</dt>
    <dd>${watts(amount)}<${Bar} label=${said} whole=${most} parts=${[{ amount: amount ?? 0, tone }]} mark=${budget} /></dd>
  </div>`;
}

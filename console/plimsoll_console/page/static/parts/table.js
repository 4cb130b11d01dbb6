// A table that can be scrolled by keyboard where it is wider than the page. On a phone each row is a
// list of its cells; the roles say what a browser no longer takes from how it is laid out.
import { html } from "./html.js";

// `columns`: a title, how a row's cell is made, and whether it is a number. `keyOf` tells rows apart.
export function Table({ caption, columns, rows, keyOf, empty = "None." }) {
  if (!rows.length) return html`<p class="empty">${empty}</p>`;
  return html`<div class="table-frame" role="region" aria-label=${caption} tabindex="0">
    <table role="table">
      <caption class="only-heard">${caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map(({ title, number }) => html`<th key=${title} role="columnheader" scope="col" class=${number ? "number" : ""}>${title}</th>`)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (row) =>
            html`<tr key=${keyOf(row)} role="row">
              ${columns.map(({ title, cell, number, wide }) => html`<td key=${title} role="cell" data-title=${title} class=${number ? "number" : wide ? "wide" : ""}><div>${cell(row)}</div></td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

// One of a few: radio buttons that look like one control.
import { html } from "./html.js";

export function Choice({ name, label, options, value, onChange }) {
  return html`<fieldset class="choice">
    <legend>${label}</legend>
    <span class="choice-options">
      ${options.map(
        ([key, text]) =>
          html`<label key=${key}>
            <input type="radio" name=${name} value=${key} checked=${key === value} onChange=${() => onChange(key)} />
            <span>${text}</span>
          </label>`,
      )}
    </span>
  </fieldset>`;
}

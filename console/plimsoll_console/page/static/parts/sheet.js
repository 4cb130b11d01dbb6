// A dialog above the page; Escape closes it, and the focus goes back to where it was.
import { useEffect, useRef } from "../vendor/hooks.js";
import { html } from "./html.js";

export function Sheet({ title, onClose, children }) {
  const dialog = useRef(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current.showModal();
    return () => opener?.focus();
  }, []);
  return html`<dialog ref=${dialog} class="sheet" aria-labelledby="sheet-title" onClose=${onClose}>
    <header>
      <h2 id="sheet-title">${title}</h2>
      <button class="quiet" onClick=${() => dialog.current.close()}>Close</button>
    </header>
    <div class="sheet-body">${children}</div>
  </dialog>`;
}

// A view whose scripts are loaded when it is first shown.
import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "./html.js";
import { Loaded } from "./loaded.js";

const NOT_LOADED = "This view could not be loaded. Reload the page.";

// `load` imports the view.
export function later(load) {
  let view = null;
  return function Later(props) {
    const [error, fail] = useState(null);
    const [, redraw] = useState(0);
    useEffect(() => {
      if (view) return;
      load().then(
        (found) => {
          view = found;
          redraw(1);
        },
        () => fail({ problems: [NOT_LOADED] }),
      );
    }, []);
    return html`<${Loaded} found=${{ data: view, error }}>${(View) => html`<${View} ...${props} />`}<//>`;
  };
}

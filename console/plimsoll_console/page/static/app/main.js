// Starts the page.
import "./begin.js";
import { render } from "../vendor/preact.js";
import { html } from "../parts/html.js";
import { takeTokenFromAddress } from "../server/session.js";
import { Frame } from "./frame.js";
import { applyTheme } from "./theme.js";

addEventListener("hashchange", takeTokenFromAddress);
applyTheme();
render(html`<${Frame} />`, document.getElementById("page"));

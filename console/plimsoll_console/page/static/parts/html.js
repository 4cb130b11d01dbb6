// Templates: elements from tagged text. What is inserted becomes a text node or a property, never
// markup.
import { h } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export const html = htm.bind(h);

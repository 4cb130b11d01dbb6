// Asks for what is shown first, while the scripts that show it are still on their way.
import { askAhead } from "../server/requests.js";
import { takeTokenFromAddress, token } from "../server/session.js";
import { route } from "./routes.js";

takeTokenFromAddress();
const { view, parts } = route.get();
if (token.get()) {
  askAhead("cluster");
  if (view === "map" && !parts.length) askAhead("map");
}

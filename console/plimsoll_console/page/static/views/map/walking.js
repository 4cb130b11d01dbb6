// Arrow keys from one thing to the next as they lie on the page; one of them is in the order of Tab.
const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
const SIDEWAYS = 3; // how much more a step aside counts than one ahead

export function walk(event, selector) {
  const from = event.target.closest(selector);
  if (!from || event.ctrlKey || event.metaKey || event.altKey) return;
  const all = [...event.currentTarget.querySelectorAll(selector)];
  const to = event.key === "Home" ? all[0] : event.key === "End" ? all.at(-1) : neighbour(from, all, STEPS[event.key]);
  if (!to) return;
  event.preventDefault();
  to.focus();
}

function neighbour(from, all, step) {
  if (!step) return null;
  const [dx, dy] = step;
  const own = centre(from);
  let best = null;
  let least = Infinity;
  for (const other of all) {
    const { x, y } = centre(other);
    const ahead = (x - own.x) * dx + (y - own.y) * dy;
    const aside = Math.abs((x - own.x) * dy) + Math.abs((y - own.y) * dx);
    if (other === from || ahead < 1) continue;
    const far = ahead + SIDEWAYS * aside;
    if (far < least) [best, least] = [other, far];
  }
  return best;
}

function centre(element) {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}

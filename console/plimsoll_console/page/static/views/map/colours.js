// The colour of a GPU: a class of styles/map.css, by what the user wants to see.
import { gpus, percent, watts } from "../../parts/amounts.js";

export const MODES = [
  ["job", "Job"],
  ["queue", "Queue"],
  ["type", "Type"],
  ["power", "Power"],
  ["waste", "Waste"],
];

const CATEGORIES = 9;
const STEPS = 6;
const WASTE_STEP = 100 / STEPS;

// How the map is coloured: the class of a holding, that of a free GPU, and the legend for both.
export function colouring(mode, map) {
  if (mode === "power") return byPower(map);
  if (mode === "waste") return byWaste(map);
  if (mode === "type") return byType(map);
  return byCategory(map, mode === "queue" ? ({ queue }) => queue : jobText, mode === "job");
}

const jobText = ({ key }) => `${key.kind}/${key.namespace}/${key.name}`;

function byCategory({ jobs }, wordOf, hashed) {
  const words = [...new Set(jobs.map(wordOf))].sort();
  const tones = new Map(words.map((word, index) => [word, `c${(hashed ? hash(word) : index) % CATEGORIES}`]));
  const legend = hashed ? [] : words.map((word) => ({ tone: tones.get(word), word }));
  return {
    held: (holding) => (holding.by === "job" ? tones.get(wordOf(jobs[holding.job])) : holding.by),
    free: () => "free",
    legend: [...legend, ...ALWAYS],
  };
}

function byType({ groups }) {
  const types = [...new Set(groups.flatMap(({ nodes }) => nodes.map(({ type }) => type)))].sort();
  const tones = new Map(types.map((type, index) => [type, `c${index % CATEGORIES}`]));
  return {
    held: (_holding, node) => tones.get(node.type),
    free: (node) => `free edge-${tones.get(node.type)}`,
    legend: [...types.map((word) => ({ tone: tones.get(word), word })), { tone: "free", word: "free" }],
  };
}

function byPower({ groups, jobs }) {
  const drawn = [...jobs.map((job) => job.watts ?? 0), ...groups.flatMap(({ nodes }) => nodes.map((node) => node.idleWatts ?? 0))];
  const most = Math.max(1, ...drawn);
  const tone = (amount) => (amount === null ? "unknown" : `s${Math.min(STEPS - 1, Math.floor((STEPS * amount) / most))}`);
  return {
    held: (holding) => (holding.by === "job" ? tone(jobs[holding.job].watts) : "unknown"),
    free: (node) => tone(node.idleWatts),
    legend: [
      ...steps((share) => `from ${watts(Math.round(share * most))}`, "s"),
      { tone: "unknown", word: "unknown" },
    ],
  };
}

function byWaste({ jobs }) {
  const tone = (share) => `w${Math.min(STEPS - 1, Math.floor(share / WASTE_STEP))}`;
  return {
    held(holding) {
      if (holding.by !== "job") return holding.by;
      const share = jobs[holding.job].wastePercent;
      return share === null ? "unknown" : tone(share);
    },
    free: () => "free",
    legend: [...steps((share) => `from ${percent(Math.round(share * 100))}`, "w"), { tone: "unknown", word: "unknown" }, ...ALWAYS],
  };
}

const ALWAYS = [
  { tone: "taken", word: "taken by others" },
  { tone: "other", word: "pods beside Plimsoll" },
  { tone: "free", word: "free" },
];

const steps = (word, prefix) => Array.from({ length: STEPS }, (_, step) => ({ tone: `${prefix}${step}`, word: word(step / STEPS) }));

// FNV-1a: a job keeps its colour whoever else comes and goes.
function hash(text) {
  let value = 0x811c9dc5;
  for (const unit of text) value = Math.imul(value ^ unit.codePointAt(0), 0x01000193) >>> 0;
  return value;
}

const STATES = {
  Closed: "takes no new pods",
  Leaving: "what it has must leave",
  Quarantined: "quarantined",
  NotReady: "not ready",
  Coming: "on its way",
};

export const stateText = (node) => STATES[node.state] ?? "ready";

export function heldMilli(node) {
  return node.cells.reduce((sum, cell) => sum + cell.holdings.reduce((own, { milli }) => own + milli, 0), 0);
}

// A node in a sentence, for those who hear the page.
export function nodeText(node) {
  const name = node.name ?? "a node that is not shown to you";
  const state = node.state === "Ready" ? "" : `, ${stateText(node)}`;
  return `${name}: ${gpus(heldMilli(node))} of ${node.cells.length} GPUs held, ${node.type}${state}`;
}

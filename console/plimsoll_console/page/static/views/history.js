// The last hours as a film: what changed when, why, and how good the plan was.
import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { clock, gpus, moment, number, percent } from "../parts/amounts.js";
import { Chart } from "../parts/chart.js";
import { Loaded } from "../parts/loaded.js";
import { JobLink, jobText, Reason, Sentence } from "../parts/words.js";
import { Table } from "../parts/table.js";
import { useLive } from "../server/live.js";

const FRAME_MILLISECONDS = 700;

export function HistoryView() {
  return html`<${Loaded} found=${useLive("history")}>
    ${({ frames, since }) => (frames.length ? html`<${Film} frames=${frames} />` : html`<p class="empty">Nothing has changed since ${moment(since)}.</p>`)}
  <//>`;
}

function Film({ frames }) {
  const [chosen, choose] = useState(null); // null: the latest, whichever that is
  const [plays, play] = useState(false);
  const last = frames.length - 1;
  const found = frames.findIndex(({ time }) => time === chosen);
  const at = found < 0 ? last : found;
  const go = (index) => choose(index >= last ? null : frames[index].time);
  useEffect(() => {
    if (!plays) return undefined;
    if (at >= last) {
      play(false);
      return undefined;
    }
    const timer = setTimeout(() => go(at + 1), FRAME_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [plays, at, last]);
  const start = () => {
    if (!plays && at >= last) go(0);
    play(!plays);
  };
  const frame = frames[at];
  const times = frames.map(({ time }) => Date.parse(time));
  const series = (name, tone, value) => ({ name, tone, steps: true, points: frames.map((each, index) => [times[index], value(each)]) });
  return html`
    <div class="film">
      <button onClick=${start}>${plays ? "Pause" : "Play"}</button>
      <label class="slider">
        <span class="only-heard">Moment</span>
        <input type="range" min="0" max=${last} value=${at} step="1" aria-valuetext=${clock(frame.time)} onInput=${(event) => go(Number(event.target.value))} />
      </label>
      <time datetime=${frame.time}>${moment(frame.time)}</time>
    </div>
    <div class="charts">
      <${Chart} label="GPUs held and in all, over time" marker=${times[at]} series=${[series("GPUs in all", "t1", (each) => each.gpusMilli / 1000), series("GPUs held", "t0", (each) => each.takenMilli / 1000)]} />
      <${Chart} label="Gap of the plan in percent, over time" marker=${times[at]} series=${[series("Gap of the plan in percent", "t2", (each) => each.gapPercent)]} />
    </div>
    <section aria-labelledby="changes">
      <h2 id="changes">What changed at ${clock(frame.time)}</h2>
      <p class="dim">${number(frame.jobsRunning)} jobs run and ${number(frame.jobsWaiting)} wait; ${gpus(frame.takenMilli)} of ${gpus(frame.gpusMilli)} GPUs are held; gap ${percent(frame.gapPercent)}.</p>
      <${Table} caption="What changed" rows=${frame.changes} keyOf=${({ key, what }) => `${what} ${jobText(key)}`} columns=${COLUMNS} empty="Nothing that is shown to you." />
      ${frame.others ? html`<p class="dim">${number(frame.others)} more jobs, not shown to you, changed.</p>` : null}
    </section>
  `;
}

const SAID = { Starts: "starts", Grows: "grows", Shrinks: "shrinks", Moves: "moves", Stops: "stops", Ends: "ends", Waits: "waits", Gone: "is gone" };

const COLUMNS = [
  { title: "Job", cell: ({ key }) => html`<${JobLink} job=${key} />` },
  { title: "What", cell: ({ what }) => SAID[what] ?? what },
  { title: "GPUs before", cell: ({ before }) => amounts(before) },
  { title: "GPUs after", cell: ({ after }) => amounts(after) },
  { title: "Why", wide: true, cell: ({ reason, message }) => html`<${Reason} text=${reason} /> <${Sentence} text=${message} />` },
];

function amounts(byType) {
  const all = Object.entries(byType);
  return all.length ? all.map(([type, milli], index) => html`${index ? ", " : ""}${gpus(milli)} × <bdi class="name" title=${type}>${type}</bdi>`) : "–";
}

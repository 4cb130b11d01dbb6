// Amounts for people: rounded, with their unit.
const LANGUAGE = "en";
const NONE = "–";

const plain = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 1 });
const fine = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 2 });
const fixed = new Intl.NumberFormat(LANGUAGE, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const short = new Intl.NumberFormat(LANGUAGE, { notation: "compact", maximumFractionDigits: 1 });

const shown = (value, text) => (value === null || value === undefined ? NONE : text(value));

export const number = (value) => shown(value, (n) => plain.format(n));
export const compact = (value) => shown(value, (n) => (Math.abs(n) < 10_000 ? fine : short).format(n));
export const gpus = (milli) => shown(milli, (n) => fine.format(n / 1000));
export const dollars = (value) => shown(value, (n) => `$${(Math.abs(n) < 10_000 ? fixed : short).format(n)}`);
export const percent = (value) => shown(value, (n) => `${plain.format(n)} %`);
export const watts = (value) =>
  shown(value, (n) => (Math.abs(n) < 1000 ? `${plain.format(n)} W` : `${fine.format(n / 1000)} kW`));

export function gpuHours(seconds) {
  return shown(seconds, (n) => `${fine.format(n / 3600)} GPU-h`);
}

const STEPS = [
  [86_400, "d", 3600, "h"],
  [3600, "h", 60, "min"],
  [60, "min", 1, "s"],
];

// So long, in its two largest units.
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  for (const [size, unit, rest, restUnit] of STEPS) {
    if (whole < size) continue;
    const many = Math.floor(whole / size);
    const left = Math.floor((whole % size) / rest);
    return left && many < 10 ? `${many} ${unit} ${left} ${restUnit}` : `${many} ${unit}`;
  }
  return `${whole} s`;
}

const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const dayTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const clock = (time) => shown(time, (t) => clockTime.format(new Date(t)));
export const moment = (time) => shown(time, (t) => dayTime.format(new Date(t)));

// Questions to the API.
import { signOut, token } from "./session.js";

const API = "api/v1/";

// The answer to a request that was not carried out, in sentences that say what to do.
export class Refused extends Error {
  constructor(status, problems) {
    super(problems.join(" "));
    this.status = status;
    this.problems = problems;
  }
}

// What was asked for before the scripts were there that show it.
const asked = new Map();

// Asks for what `get` is going to be asked for.
export function askAhead(path) {
  const answer = load(path);
  // Who gets it says what is wrong.
  answer.catch(() => {});
  asked.set(path, { bearer: token.get(), answer });
}

export async function get(path, { signal } = {}) {
  const ahead = asked.get(path);
  asked.delete(path);
  return ahead?.bearer === token.get() ? ahead.answer : load(path, signal);
}

async function load(path, signal) {
  return (await respond(path, { signal })).json();
}

export async function post(path, message, { signal } = {}) {
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify(message);
  return (await respond(path, { method: "POST", headers, body, signal })).json();
}

// Rejects with `Refused` unless the status is one of success. A token that is not taken is dropped.
export async function respond(path, { headers = {}, ...rest }) {
  const bearer = token.get();
  const response = await fetch(API + path, {
    ...rest,
    headers: { Authorization: `Bearer ${bearer}`, ...headers },
    cache: "no-store",
    credentials: "omit",
  });
  if (response.ok) return response;
  const refused = new Refused(response.status, await problemsOf(response));
  if (response.status === 401 && bearer === token.get()) {
    signOut("This token is not valid, or no longer. Sign in with another.");
  }
  throw refused;
}

async function problemsOf(response) {
  try {
    return (await response.json()).problems.map(String);
  } catch {
    return [`The console answered ${response.status} ${response.statusText}.`];
  }
}

// A question that takes the console a moment; leaving takes it back.
import { useEffect, useState } from "../../vendor/hooks.js";
import { html } from "../../parts/html.js";
import { Problems } from "../../parts/loaded.js";
import { post } from "../../server/requests.js";

// What the API answers to `message`; nothing is asked while that is null.
export function useAnswer(path, message) {
  const [answer, keep] = useState({ data: null, error: null, busy: false });
  useEffect(() => {
    if (message === null) return undefined;
    const stop = new AbortController();
    keep({ data: null, error: null, busy: true });
    post(path, message, { signal: stop.signal }).then(
      (data) => keep({ data, error: null, busy: false }),
      (error) => stop.signal.aborted || keep({ data: null, error, busy: false }),
    );
    return () => stop.abort();
  }, [path, message]);
  return answer;
}

export function Answer({ answer, children }) {
  return html`<div aria-live="polite" aria-busy=${answer.busy}>
    ${answer.busy ? html`<p class="empty">Planning to find out…</p>` : null}
    ${answer.error ? html`<${Problems} error=${answer.error} />` : null}
    ${answer.data ? children(answer.data) : null}
  </div>`;
}

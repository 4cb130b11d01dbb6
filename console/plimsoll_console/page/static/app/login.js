// Asks for a token.
import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { refusal, signIn } from "../server/session.js";
import { useSignal } from "../server/signal.js";

export function Login() {
  const field = useRef(null);
  const [given, keep] = useState("");
  const because = useSignal(refusal);
  // Before it is painted: who sees the field and types at once loses nothing.
  useLayoutEffect(() => field.current.focus(), []);
  const submit = (event) => {
    event.preventDefault();
    const token = given.trim().replace(/^Bearer\s+/i, "");
    if (token) signIn(token);
    else field.current.focus();
  };
  return html`<main class="login">
    <form onSubmit=${submit} aria-labelledby="login-title">
      <svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="10" /><path d="M1 16h30" /></svg>
      <h1 id="login-title">Plimsoll</h1>
      <p>Sign in with a token of Kubernetes. You see what its bearer may see.</p>
      ${because ? html`<p class="problem" role="alert">${because}</p>` : null}
      <label for="token">Token</label>
      <input id="token" ref=${field} type="password" autocomplete="off" spellcheck=${false} required value=${given} onInput=${(event) => keep(event.target.value)} />
      <button type="submit" class="primary">Sign in</button>
      <p class="dim">It stays in this tab, and goes with it. <code>kubectl plimsoll ui</code> opens this page signed in; for a service account, <code>kubectl create token NAME</code> prints one.</p>
    </form>
  </main>`;
}

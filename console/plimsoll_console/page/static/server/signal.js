// A value that tells who uses it when it changes.
import { useEffect, useState } from "../vendor/hooks.js";

export function signal(first) {
  let value = first;
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(value, next)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useSignal(source) {
  const [, redraw] = useState(0);
  useEffect(() => source.subscribe(() => redraw((count) => count + 1)), [source]);
  return source.get();
}

// The time, for what is said relative to it.
import { useEffect, useState } from "../vendor/hooks.js";

export function useNow(everyMilliseconds = 5000) {
  const [now, tick] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => tick(Date.now()), everyMilliseconds);
    return () => clearInterval(timer);
  }, [everyMilliseconds]);
  return now;
}

// Server-sent events, read with fetch: EventSource cannot send an Authorization header.

// Calls `take` with each event until the stream ends. Rejects if it cannot be had, or breaks.
export async function readEvents(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = `${rest}${value}`.replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) take(eventOf(block));
  }
}

function eventOf(block) {
  const event = { event: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (field === "data") event.data += event.data ? `\n${value}` : value;
    else if (field === "event" || field === "id") event[field] = value;
  }
  return event;
}

// The wait before another attempt: twice as long after each failure, and never the same for all.
export function backOff(failures) {
  const longest = Math.min(30_000, 500 * 2 ** failures);
  return longest * (0.5 + Math.random() / 2);
}

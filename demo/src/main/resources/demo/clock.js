// The clock of the demo, as the page estimates it: from the message that had the shortest delay recently.

const WINDOW = 10_000;

let samples = [];
let offset = 0;

/** A late message does not set the clock back, unless all messages of the window do: then the clock was changed. */
export function synchronize(now) {
  const at = performance.now();
  samples = [...samples.filter((one) => one.at > at - WINDOW), { at, difference: now - Date.now() }];
  offset = Math.max(...samples.map((one) => one.difference));
}

export const now = () => Date.now() + offset;

// The clock of the demo, as far as the page can know it: what a message says, at the least delay of late.

const WINDOW = 10_000;

let heardOf = [];
let offset = 0;

/** A message that comes late does not set the clock back, unless for a while all do: then it was set. */
export function heard(now) {
  const at = performance.now();
  heardOf = [...heardOf.filter((one) => one.at > at - WINDOW), { at, difference: now - Date.now() }];
  offset = Math.max(...heardOf.map((one) => one.difference));
}

export const now = () => Date.now() + offset;

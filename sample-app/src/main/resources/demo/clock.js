// The clock of the demo, as far as the page can know it: what a message says, at the least delay seen.

let offset = null;

export function heard(now) {
  const difference = now - Date.now();
  if (offset === null || difference > offset || offset - difference > 500) {
    offset = difference;
  }
}

export const now = () => Date.now() + (offset ?? 0);

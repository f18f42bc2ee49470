// How one term follows another: with a time without a leader, or with two leaders.

/**
 * The transitions between the terms, in the order of time, each with the term that follows it:
 * - gap: no node led. It is provisional if the node before has not reported since and may have led for longer.
 * - overlap: two led.
 * - unknown: the node before has not reported since the next one began to lead.
 * The last one may be open: no node leads now.
 */
export function seamsOf(terms, now) {
  const seams = [];
  let before = null;
  for (const term of [...terms].sort((a, b) => a.from - b.from)) {
    if (before) {
      seams.push(seam(before, term));
    }
    before = (before === null || endOf(term) >= endOf(before)) ? term : before;
  }
  if (before && endOf(before) < now) {
    seams.push({ kind: "gap", from: before.to, to: null, provisional: before.provisional, before: null });
  }
  return seams;
}

function seam(before, term) {
  if (endOf(before) <= term.from) {
    return { kind: "gap", from: before.to, to: term.from, provisional: before.provisional, before: term.term };
  }
  const end = Math.min(endOf(before), endOf(term));
  return { kind: before.provisional ? "unknown" : "overlap", from: term.from, to: (end === Infinity) ? null : end,
    before: term.term };
}

const endOf = (term) => term.to ?? Infinity;

/** The duration of a transition, up to now if it is open. */
export const lengthOf = (seam, now) => (seam.to ?? now) - seam.from;

/** The terms that are in progress by the last reports. There must never be more than one. */
export const leadingTerms = (terms) => terms.filter((term) => term.to === null && !term.provisional);

export const latestOf = (terms) => terms.reduce((latest, term) => (!latest || term.from > latest.from ? term : latest),
    null);

// What the timeline draws: ticks, terms and faults, kept somewhat longer than the demo tells them, so that one can
// stop the timeline and look.

const KEPT = 150_000;

export class History {
  ticks = new Map();
  terms = [];
  faults = [];
  nodes = [];

  /** Take in what the demo tells, and return the ticks that are new. */
  add(state) {
    const added = [];
    for (const tick of state.ticks) {
      const key = tick.node + "|" + tick.kind + "|" + tick.at + "|" + tick.term;
      if (!this.ticks.has(key)) {
        this.ticks.set(key, tick);
        added.push(tick);
      }
    }
    this.terms = merge(this.terms, state.terms, (term) => term.term + "|" + term.node)
      .filter((term) => (term.to ?? Infinity) > state.now - KEPT)
      .sort((a, b) => a.from - b.from);
    this.faults = merge(this.faults, state.faults, (fault) => fault.id)
      .filter((fault) => fault.at > state.now - KEPT);
    for (const name of [...state.nodes.map((node) => node.name), ...this.terms.map((term) => term.node)]) {
      if (!this.nodes.includes(name)) {
        this.nodes.push(name);
      }
    }
    return added;
  }

  /** Forget what is too old to be drawn. */
  forget(now) {
    for (const [key, tick] of this.ticks) {
      if (tick.at < now - KEPT) {
        this.ticks.delete(key);
      }
    }
  }

  /** The times at which nobody led, and those at which two did, from one term to the next. */
  seams() {
    const seams = [];
    let end = null;
    let provisional = false;
    for (const { from, to, ...term } of this.terms) {
      if (end !== null && end <= from) {
        seams.push({ kind: "gap", from: end, to: from, provisional });
      }
      else if (end !== null) {
        seams.push({ kind: "overlap", from, to: Math.min(end, to ?? Infinity) });
      }
      end = Math.max(end ?? 0, to ?? Infinity);
      provisional = Boolean(term.provisional);
    }
    return seams;
  }
}

function merge(old, news, key) {
  const merged = new Map(old.map((item) => [key(item), item]));
  news.forEach((item) => merged.set(key(item), item));
  return [...merged.values()];
}

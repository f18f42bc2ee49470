// What the timeline draws: ticks, terms and faults. Ticks are kept somewhat longer than the demo sends them, so that
// the timeline can be paused.

const KEPT = 200_000;

/** How late a tick may arrive. */
const LATE = 5000;

export class History {
  ticks = new Map();
  terms = [];
  faults = [];
  nodes = [];

  /**
   * Add the state of the demo, and remove what is too old to be drawn.
   * @param held the time at which the timeline is paused, or null
   * @return the ticks that are new
   */
  add(state, held) {
    const horizon = (held ?? state.now) - KEPT;
    const added = (held === null || state.now < held + LATE) ? this.#addTicks(state.ticks) : [];
    for (const [key, tick] of this.ticks) {
      if (tick.at < horizon) {
        this.ticks.delete(key);
      }
    }
    this.terms = state.terms.filter((term) => (term.to ?? Infinity) > horizon).sort((a, b) => a.from - b.from);
    this.faults = state.faults.filter((fault) => fault.at > horizon);
    this.nodes = state.nodes.map((node) => node.name);
    return added;
  }

  #addTicks(ticks) {
    const added = [];
    for (const tick of ticks) {
      const key = tick.node + "|" + tick.kind + "|" + tick.at + "|" + tick.number;
      if (!this.ticks.has(key)) {
        this.ticks.set(key, tick);
        added.push(tick);
      }
    }
    return added;
  }

  /** How many ticks of each kind a node had in a time. */
  count(node, from, to) {
    const counts = { leader: 0, all: 0 };
    for (const tick of this.ticks.values()) {
      if (tick.node === node && tick.at >= from && tick.at <= to) {
        counts[tick.kind]++;
      }
    }
    return counts;
  }
}

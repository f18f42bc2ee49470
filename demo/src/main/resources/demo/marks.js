// What was done to the nodes, as lines across the timeline.

import { attribute, label, svg } from "./dom.js";
import { TOP } from "./scale.js";
import { title } from "./words.js";

const RADIUS = 9;

/** From the middle of a badge to its label. */
const APART = RADIUS + 4;

export class Marks {
  shown = svg("g");
  #scale;
  #labels = [];

  constructor(scale) {
    this.#scale = scale;
  }

  draw(faults) {
    this.#labels = [];
    this.shown.replaceChildren(...faults.flatMap((fault) => this.#draw(fault)));
    for (const one of this.#labels) {
      one.length = one.shown.getComputedTextLength();
    }
    this.#labels.sort((a, b) => a.x - b.x);
  }

  #draw(fault) {
    const x = this.#scale.x(fault.at);
    const words = label("fault-label", x + APART, 15, title(fault));
    this.#labels.push({ shown: words, x, length: 0 });
    const shown = [
      svg("line", { "class": "fault-line", x1: x, x2: x, y1: TOP - 6, y2: this.#scale.height }),
      svg("g", {}, svg("circle", { "class": "fault-dot", cx: x, cy: 11, r: RADIUS }),
          label("fault-number", x, 15, String(fault.id)), svg("title", {}, title(fault))),
      words
    ];
    if (this.#scale.nodes.includes(fault.node)) {
      shown.push(svg("circle", { "class": "fault-place", cx: x, cy: this.#scale.lane(fault.node) + 30, r: 5 }));
    }
    return shown;
  }

  /** A label is to the right of its badge, to the left of it, or hidden if there is no room. */
  place(end) {
    const right = this.#scale.x(end);
    const left = this.#scale.left(end);
    let free = left;
    this.#labels.forEach(({ shown, x, length }, index) => {
      const needed = APART + length + 4;
      const next = Math.min(right, (this.#labels[index + 1]?.x ?? Infinity) - RADIUS);
      const after = x + needed < next;
      const before = !after && x - needed > free;
      attribute(shown, "visibility", (after || before) ? null : "hidden");
      attribute(shown, "x", (before ? x - APART : x + APART).toFixed(1));
      attribute(shown, "text-anchor", before ? "end" : null);
      free = Math.max(left, after ? x + needed : x + RADIUS);
    });
  }
}

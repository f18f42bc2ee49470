// The background of the timeline: a lane for each node, and the time of day.

import { colourOf } from "./colours.js";
import { label, svg } from "./dom.js";
import { time } from "./format.js";
import { LANE, TOP } from "./scale.js";

const STEPS = { 120: 20_000, 60: 10_000, 20: 5000, 5: 1000 };

export const SUMMARY = "All nodes together";

export class Axis {
  grid = svg("g", { "class": "grid" });
  lanes = svg("g");
  #scale;
  #step = null;

  constructor(scale) {
    this.#scale = scale;
  }

  rebuild() {
    this.#step = null;
    const lane = (name, type, y) => [
      svg("line", { "class": "lane-line", x1: 0, x2: this.#scale.width, y1: y + LANE - 1, y2: y + LANE - 1 }),
      label("lane-name " + type, 2, y + 13, name)
    ];
    this.lanes.replaceChildren(...lane(SUMMARY, "", TOP), ...this.#scale.nodes.flatMap(
        (node) => lane(node, colourOf(node), this.#scale.lane(node))));
  }

  /** Draw the times of day of a picture that ends at a time, if they have changed. */
  place(end) {
    const { span, width, height } = this.#scale;
    const length = STEPS[span];
    const step = Math.floor(end / length);
    if (step === this.#step) {
      return;
    }
    this.#step = step;
    const lines = [];
    for (let index = Math.floor((end - span * 1000) / length); index * length <= end + length; index++) {
      const x = this.#scale.x(index * length).toFixed(1);
      lines.push(svg("line", { x1: x, x2: x, y1: TOP, y2: height }));
      if (width >= 480 || index % 2 === 0) {
        lines.push(label("axis", x, height + 16, time(index * length)));
      }
    }
    this.grid.replaceChildren(...lines);
  }
}

// The runs of the jobs, each a stroke.

import { colourOf } from "./colours.js";
import { attribute, svg } from "./dom.js";
import { TOP } from "./scale.js";

export class Ticks {
  shown = svg("g");
  #scale;
  #paths = new Map();
  #drawn = 0;

  constructor(scale) {
    this.#scale = scale;
  }

  /** Whether so much is out of sight that drawing everything again is cheaper. */
  isWorn(size) {
    return this.#drawn > 2 * size + 100;
  }

  rebuild(ticks) {
    // So that ticks stay apart
    attribute(this.shown, "stroke-width", this.#stroke().toFixed(2));
    this.shown.replaceChildren();
    this.#paths.clear();
    this.#drawn = 0;
    this.draw(ticks);
  }

  #stroke() {
    return Math.min(2.5, Math.max(1, this.#scale.width / this.#scale.span / 12));
  }

  /** One path for all ticks of a kind in a lane: a browser paints that faster than a thousand lines. */
  draw(ticks) {
    const changed = new Set();
    for (const { node, kind, at } of ticks) {
      const path = this.#path(node, kind);
      // Those of one time are drawn side by side
      const before = path.times.get(at) ?? 0;
      path.times.set(at, before + 1);
      const x = (this.#scale.x(at) + before * 2 * this.#stroke()).toFixed(2);
      const y = this.#scale.lane(node);
      path.data += (kind === "leader") ? "M" + x + " " + (TOP + 22) + "v16M" + x + " " + (y + 22) + "v16"
        : "M" + x + " " + (y + 46) + "v8";
      this.#drawn++;
      changed.add(path);
    }
    changed.forEach(({ shown, data }) => shown.setAttribute("d", data));
  }

  #path(node, kind) {
    const key = kind + "|" + node;
    if (!this.#paths.has(key)) {
      const shown = svg("path", { "class": (kind === "leader") ? "tick-leader " + colourOf(node) : "tick-all" });
      this.shown.append(shown);
      this.#paths.set(key, { shown, data: "", times: new Map() });
    }
    return this.#paths.get(key);
  }
}

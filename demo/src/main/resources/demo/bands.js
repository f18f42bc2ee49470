// The terms as bands, and what is between them.

import { SUMMARY } from "./axis.js";
import { colourOf } from "./colours.js";
import { attribute, label, svg } from "./dom.js";
import { millis } from "./format.js";
import { TOP } from "./scale.js";
import { lengthOf } from "./seams.js";

export class Bands {
  shown = svg("g");
  /** To be drawn above all else, so that no line crosses them. */
  lengths = svg("g");
  /** In a layer that does not move: they move within their bands. */
  names = svg("g");
  #scale;
  #labels = [];

  constructor(scale) {
    this.#scale = scale;
  }

  draw(terms, seams, now) {
    this.#labels = terms.flatMap((term) => [
      this.#name("term-label", term.term, term, this.#scale.lane(term.node) + 13, this.#longestName()),
      this.#name("leader-label " + colourOf(term.node), term.node, term, TOP + 13, SUMMARY)
    ]);
    this.names.replaceChildren(...this.#labels.map((name) => name.shown));
    this.shown.replaceChildren(...terms.flatMap((term) => this.#band(term, now)),
        ...seams.flatMap((seam) => this.#seam(seam, now)));
    this.lengths.replaceChildren(...this.#lengths(seams, now));
  }

  #band({ node, from, to, provisional }, now) {
    const x = this.#scale.x(from);
    return [TOP, this.#scale.lane(node)].map((y) => svg("rect", { x, y: y + 19, rx: 4, height: 22,
      "class": "band " + colourOf(node) + (provisional ? " provisional" : ""),
      width: Math.max(1, this.#scale.stop(to, now) - x) }));
  }

  #seam({ kind, from, to }, now) {
    if (kind === "unknown") {
      return [];
    }
    const x = this.#scale.x(from);
    return [svg("rect", { "class": "seam " + kind, x, y: TOP + 19, height: 22,
      width: Math.max(kind === "overlap" ? 3 : 1, this.#scale.stop(to, now) - x),
      ...(kind === "gap" && { fill: "url(#hatching)" }) })];
  }

  /** How long each seam is, where there is room for it. */
  #lengths(seams, now) {
    let free = -Infinity;
    return seams.filter((seam) => seam.kind !== "unknown").flatMap((seam) => {
      const { kind, from, to, provisional } = seam;
      // A node that is silent may have led for longer than it could report
      const words = (kind === "overlap" ? "two lead for " : provisional ? "\u2264 " : "") + millis(lengthOf(seam, now))
        + (to === null ? " so far" : "");
      const half = words.length * 3.5 + 3;
      const middle = (this.#scale.x(from) + this.#scale.x(to ?? now)) / 2 - (to === null ? half : 0);
      if (kind === "gap" && middle - half < free) {
        return [];
      }
      free = middle + half;
      return [svg("rect", { "class": "seam-ground", x: middle - half, y: TOP + 43, width: 2 * half, height: 15 }),
        label("seam-label " + kind, middle, TOP + 54, words)];
    });
  }

  #longestName() {
    return this.#scale.nodes.reduce((longest, name) => (name.length > longest.length ? name : longest), "");
  }

  #name(type, words, { from, to }, y, laneName) {
    return { shown: label(type, 0, y, words), from, to, length: words.length * 6.8,
      reserved: laneName.length * 7.6 + 14 };
  }

  /** Names stay in sight as long as their band does. */
  place(end) {
    const left = this.#scale.left(end);
    for (const { shown, from, to, length, reserved } of this.#labels) {
      const start = Math.max(this.#scale.x(from) - left, reserved);
      const stop = Math.min((to === null) ? Infinity : this.#scale.x(to) - left, this.#scale.width);
      attribute(shown, "visibility", (stop - start >= length) ? null : "hidden");
      attribute(shown, "x", start.toFixed(1));
    }
  }
}

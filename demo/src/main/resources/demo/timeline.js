// All nodes on one time axis. What is drawn is fixed in one layer, which each frame moves to the left.

import { Axis } from "./axis.js";
import { Bands } from "./bands.js";
import { now } from "./clock.js";
import { attribute, byId, element, svg, text } from "./dom.js";
import { plural, time } from "./format.js";
import { History } from "./history.js";
import { Marks } from "./marks.js";
import { AXIS, Scale } from "./scale.js";
import { seamsOf } from "./seams.js";
import * as table from "./table.js";
import { Ticks } from "./ticks.js";

/** The time that is shown before and after a selected fault. */
const BEFORE = 2000;
const AFTER = 3000;

/** What has no end yet is drawn ahead, and drawn again after this time. */
const REDRAWN = 300_000;

/** With a lease of that length, a minute is not enough to show what happens to a frozen leader. */
const LONG_LEASE = 20_000;

export class Timeline {
  #history = new History();
  #scale = new Scale();
  #axis = new Axis(this.#scale);
  #bands = new Bands(this.#scale);
  #ticks = new Ticks(this.#scale);
  #marks = new Marks(this.#scale);
  // A layer of its own, which moves without being painted again
  #world = svg("svg", { "class": "world" }, hatching(), this.#axis.grid, this.#bands.shown, this.#ticks.shown,
      this.#marks.shown, this.#bands.lengths);
  #fixed = svg("svg", { "class": "fixed" }, this.#axis.lanes, this.#bands.names);
  #plot = element("div", { "class": "layers", role: "img" }, this.#world, this.#fixed);
  #state = null;
  #end = null;
  #drawn = null;

  constructor() {
    byId("plot").append(this.#plot);
    this.#zoom((byId("plot").clientWidth < 600) ? 20 : 60);
    new ResizeObserver(() => this.#resize()).observe(byId("plot"));
    for (const input of document.querySelectorAll('input[name="span"]')) {
      input.addEventListener("change", () => this.#zoom(Number(input.value)));
    }
    byId("pause").addEventListener("click", () => this.#hold(this.#end === null ? this.#now() : null));
    byId("timeline-details").addEventListener("toggle", () => this.#describe());
  }

  /** Milliseconds from frame to frame: about one pixel. */
  get pace() {
    return (this.#scale.span >= 60) ? 40 : 10;
  }

  show(state) {
    this.#state = state;
    byId("long-span").hidden = state.lease <= LONG_LEASE;
    const added = this.#history.add(state, this.#end);
    if (this.#scale.nodes.join() !== this.#history.nodes.join() || this.#ticks.isWorn(this.#history.ticks.size)) {
      this.#rebuild();
    }
    else if (this.#scale.width > 0) {
      this.#ticks.draw(added);
      this.#drawTerms();
    }
    this.#describe();
  }

  frame() {
    if (this.#scale.width > 0 && this.#state) {
      const end = this.#end ?? this.#now();
      this.#world.style.transform = "translateX(" + (-this.#scale.left(end)).toFixed(2) + "px)";
      this.#axis.place(end);
      this.#bands.place(end);
      this.#marks.place(end);
    }
  }

  /** Pause at a fault and its outcome. */
  seek({ at, outcome }) {
    const end = Math.min(this.#now(), at + Math.max(0, outcome?.millis ?? 0) + AFTER);
    this.#zoom([20, 60].find((span) => span * 1000 >= end - at + BEFORE) ?? 120);
    this.#hold(end);
    byId("plot").scrollIntoView({ block: "center" });
    byId("pause").focus({ preventScroll: true });
  }

  /** The time of the clock, or of the last message if the connection is lost. */
  #now() {
    return this.#state?.live === false ? this.#state.now : now();
  }

  #hold(end) {
    this.#end = end;
    byId("pause").setAttribute("aria-pressed", String(end !== null));
    text(byId("pause"), (end !== null) ? "Resume" : "Pause");
    byId("plot").dataset.held = end !== null;
    this.frame();
    this.#describe();
  }

  #zoom(span) {
    this.#scale.span = span;
    document.querySelector('input[name="span"][value="' + span + '"]').checked = true;
    this.#rebuild();
    this.#describe();
  }

  #resize() {
    const width = Math.floor(byId("plot").clientWidth);
    if (width !== this.#scale.width) {
      this.#scale.width = width;
      this.#rebuild();
    }
  }

  #rebuild() {
    this.#scale.nodes = this.#history.nodes;
    if (this.#scale.width === 0 || this.#scale.nodes.length === 0) {
      return;
    }
    this.#scale.base = this.#now();
    this.#drawn = null;
    for (const layer of [this.#world, this.#fixed]) {
      attribute(layer, "width", this.#scale.width);
      attribute(layer, "height", this.#scale.height + AXIS);
    }
    this.#plot.style.height = this.#scale.height + AXIS + "px";
    this.#axis.rebuild();
    this.#ticks.rebuild(this.#history.ticks.values());
    this.#drawTerms();
    this.frame();
  }

  #seams() {
    return seamsOf(this.#history.terms, this.#now());
  }

  #drawTerms() {
    const seams = this.#seams();
    const open = seams.some((seam) => seam.to === null);
    const drawn = JSON.stringify([this.#scale, this.#history.terms, this.#history.faults.map((fault) => fault.id),
      seams, Math.floor(this.#now() / (open ? 1 : REDRAWN))]);
    if (this.#drawn !== drawn) {
      this.#drawn = drawn;
      this.#bands.draw(this.#history.terms, seams, this.#now());
      this.#marks.draw(this.#history.faults);
    }
  }

  /** In words and figures, for the time that is shown. */
  #describe() {
    if (!this.#state) {
      return;
    }
    const { span } = this.#scale;
    const end = this.#end ?? this.#state.now;
    const from = end - span * 1000;
    const nodes = this.#history.nodes.map((name) => {
      const { leader, all } = this.#history.count(name, from, end);
      return name + ": " + plural(leader, "run") + " of the leader-only job, " + all + " of the other.";
    });
    const seams = this.#seams();
    const shown = seams.filter((seam) => seam.before !== null && seam.from <= end && (seam.to ?? end) >= from);
    attribute(this.#plot, "aria-label", "Timeline of " + (this.#end === null ? "the last " + span + " seconds. "
        : span + " seconds until " + time(end) + ". ") + nodes.join(" ") + " " + plural(shown.length, "change")
        + " of leader, in " + shown.filter((seam) => seam.kind === "overlap").length
        + " of them two led at once. The same is below as a table.");
    if (byId("timeline-details").open) {
      table.show(this.#history, seams, end);
    }
  }
}

function hatching() {
  return svg("defs", {}, svg("pattern", { id: "hatching", width: 5, height: 5, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" }, svg("line", { "class": "hatch", x1: 0, x2: 0, y1: 0, y2: 5 })));
}

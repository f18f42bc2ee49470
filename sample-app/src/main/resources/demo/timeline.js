// All nodes on one time axis. What is drawn stands still in a world of its own, which a frame moves to the left.

import { now } from "./clock.js";
import { colourOf } from "./colours.js";
import { attribute, byId, element, svg, text } from "./dom.js";
import { title } from "./faults.js";
import { millis, plural, time } from "./format.js";
import { History } from "./history.js";
import * as table from "./table.js";

const TOP = 26;
const LANE = 62;
const AXIS = 24;
const STEPS = { 60: 10_000, 20: 5000, 5: 1000 };
/** How far a term that is not over reaches to the right, out of sight. */
const AHEAD = 600_000;
const SUMMARY = "All nodes together";

export class Timeline {
  #history = new History();
  #span = 60;
  #end = null;
  #width = 0;
  #base = 0;
  #state = null;
  // A layer of its own, which moves without being painted anew
  #world = svg("svg", { "class": "world" });
  #fixed = svg("svg", { "class": "fixed" });
  #grid = svg("g", { "class": "grid" });
  #bands = svg("g");
  #ticks = svg("g");
  #marks = svg("g");
  #plot = element("div", { "class": "layers", role: "img" });
  #drawn = null;
  #drawnTicks = 0;
  #tickPaths = new Map();
  #labels = [];
  #faultLabels = [];
  #step = null;

  constructor() {
    this.#world.append(hatching(), this.#grid, this.#bands, this.#ticks, this.#marks);
    this.#plot.append(this.#world, this.#fixed);
    byId("plot").append(this.#plot);
    this.#zoom((byId("plot").clientWidth < 600) ? 20 : 60);
    new ResizeObserver(() => this.#resize()).observe(byId("plot"));
    for (const input of document.querySelectorAll('input[name="span"]')) {
      input.addEventListener("change", () => this.#zoom(Number(input.value)));
    }
    byId("pause").addEventListener("click", () => this.#hold(this.#end === null ? now() : null));
    byId("timeline-details").addEventListener("toggle", () => this.#showTable());
  }

  /** Milliseconds from frame to frame: about one pixel. */
  get pace() {
    return (this.#span === 60) ? 40 : 10;
  }

  show(state) {
    this.#state = state;
    const lanes = this.#history.nodes.length;
    const added = this.#history.add(state);
    this.#history.forget(state.now);
    if (lanes !== this.#history.nodes.length || this.#drawnTicks > 2 * this.#history.ticks.size + 100) {
      this.#rebuild();
    }
    else {
      this.#drawTicks(added);
      this.#drawTermsAndFaults();
    }
    this.#describe();
    this.#showTable();
  }

  frame() {
    if (this.#width === 0) {
      return;
    }
    const end = this.#end ?? now();
    this.#world.style.transform = "translateX(" + (this.#width - this.#x(end)).toFixed(2) + "px)";
    const step = Math.floor(end / STEPS[this.#span]);
    if (step !== this.#step) {
      this.#step = step;
      this.#drawGrid(end);
    }
    this.#placeLabels(end);
  }

  /** Stop, and look at a moment. */
  seek(at) {
    this.#zoom(20);
    this.#hold(Math.min(now(), at + 12_000));
    byId("plot").scrollIntoView({ block: "center" });
    byId("pause").focus({ preventScroll: true });
  }

  #hold(end) {
    this.#end = end;
    byId("pause").setAttribute("aria-pressed", String(end !== null));
    text(byId("pause"), (end !== null) ? "Go on" : "Pause");
    byId("plot").dataset.held = end !== null;
    this.#step = null;
    this.frame();
  }

  #zoom(span) {
    this.#span = span;
    document.querySelector('input[name="span"][value="' + span + '"]').checked = true;
    this.#rebuild();
  }

  #resize() {
    const width = Math.floor(byId("plot").clientWidth);
    if (width !== this.#width) {
      this.#width = width;
      this.#rebuild();
    }
  }

  #x(at) {
    return (at - this.#base) * this.#width / (this.#span * 1000);
  }

  #lane(node) {
    return TOP + (1 + this.#history.nodes.indexOf(node)) * LANE;
  }

  #height() {
    return TOP + (1 + this.#history.nodes.length) * LANE;
  }

  #rebuild() {
    if (this.#width === 0 || this.#history.nodes.length === 0) {
      return;
    }
    this.#base = now();
    this.#drawn = null;
    this.#step = null;
    for (const layer of [this.#world, this.#fixed]) {
      attribute(layer, "width", this.#width);
      attribute(layer, "height", this.#height() + AXIS);
    }
    this.#plot.style.height = this.#height() + AXIS + "px";
    // So that ticks stay apart
    attribute(this.#ticks, "stroke-width", Math.min(2.5, Math.max(1, this.#width / this.#span / 12)).toFixed(2));
    this.#ticks.replaceChildren();
    this.#tickPaths.clear();
    this.#drawnTicks = 0;
    this.#drawTicks(this.#history.ticks.values());
    this.#drawFixed();
    this.#drawTermsAndFaults();
    this.frame();
  }

  #drawFixed() {
    const lane = (name, y) => [
      svg("line", { "class": "lane-line", x1: 0, x2: this.#width, y1: y + LANE - 1, y2: y + LANE - 1 }),
      this.#label("lane-name " + (name === SUMMARY ? "" : colourOf(name)), 2, y + 13, name)
    ];
    this.#fixed.replaceChildren(...lane(SUMMARY, TOP), ...this.#history.nodes.flatMap(
        (node) => lane(node, this.#lane(node))));
  }

  #label(type, x, y, content) {
    const label = svg("text", { "class": type, x, y });
    label.textContent = content;
    return label;
  }

  /** One path for all ticks of a kind in a lane: a browser paints that faster than a thousand lines. */
  #drawTicks(ticks) {
    if (this.#width === 0) {
      return;
    }
    const changed = new Set();
    for (const { node, kind, at } of ticks) {
      const x = this.#x(at).toFixed(2);
      const y = this.#lane(node);
      const path = this.#tickPath(node, kind);
      path.data += (kind === "leader") ? "M" + x + " " + (TOP + 22) + "v16M" + x + " " + (y + 22) + "v16"
        : "M" + x + " " + (y + 46) + "v8";
      this.#drawnTicks++;
      changed.add(path);
    }
    changed.forEach(({ shown, data }) => shown.setAttribute("d", data));
  }

  #tickPath(node, kind) {
    const key = kind + "|" + node;
    if (!this.#tickPaths.has(key)) {
      const shown = svg("path", { "class": (kind === "leader") ? "tick-leader " + colourOf(node) : "tick-all" });
      this.#ticks.append(shown);
      this.#tickPaths.set(key, { shown, data: "" });
    }
    return this.#tickPaths.get(key);
  }

  #drawTermsAndFaults() {
    if (this.#width === 0) {
      return;
    }
    const seams = this.#history.seams();
    const drawn = JSON.stringify([this.#base, this.#width, this.#span, this.#history.nodes, this.#history.terms,
      this.#history.faults.map((fault) => fault.id), seams,
      seams.some((seam) => seam.to === Infinity) && now()]);
    if (this.#drawn === drawn) {
      return;
    }
    this.#drawn = drawn;
    const bands = [];
    const seamLabels = [];
    this.#labels = [];
    this.#faultLabels = [];
    for (const { term, node, from, to, provisional } of this.#history.terms) {
      for (const y of [TOP, this.#lane(node)]) {
        bands.push(svg("rect", { "class": "band " + colourOf(node) + (provisional ? " provisional" : ""),
          x: this.#x(from), y: y + 19, rx: 4, width: Math.max(1, this.#x(to ?? now() + AHEAD) - this.#x(from)), height: 22 }));
      }
      this.#addLabel("term", term, from, to ?? Infinity, this.#lane(node) + 13, this.#lane(node));
    }
    let free = -Infinity;
    for (const { kind, from, to, provisional } of seams) {
      const width = Math.max(kind === "overlap" ? 3 : 1, this.#x(Math.min(to, now())) - this.#x(from));
      bands.push(svg("rect", { "class": "seam " + kind, x: this.#x(from), y: TOP + 19, width, height: 22,
        ...(kind === "gap" && { fill: "url(#hatching)" }) }));
      // A node that is frozen may have led for longer than it could say
      const content = (kind === "overlap" ? "two lead for " : provisional ? "\u2264 " : "") + millis(Math.min(to, now()) - from);
      const middle = this.#x(from) + width / 2;
      if (kind === "overlap" || middle - content.length * 3.5 > free) {
        seamLabels.push(this.#label("seam-label " + kind, middle, TOP + 54, content));
        free = middle + content.length * 3.5;
      }
    }
    this.#bands.replaceChildren(...bands, ...this.#labels.map((label) => label.shown));
    this.#marks.replaceChildren(...this.#history.faults.flatMap((fault) => this.#drawFault(fault)), ...seamLabels);
    this.#placeLabels(this.#end ?? now());
  }

  #addLabel(type, content, from, to, y, row) {
    this.#labels.push({ shown: this.#label("term-label", 0, y, content), from, to, row, length: content.length * 6.8 });
  }

  /** Names of terms stay in sight as long as their band does. */
  #placeLabels(end) {
    const left = this.#x(end) - this.#width;
    const reserved = Math.max(0, ...this.#history.nodes.map((name) => name.length)) * 8 + 14;
    for (const { shown, from, to, length } of this.#labels) {
      const start = Math.max(this.#x(from), left + reserved);
      const stop = Math.min((to === Infinity) ? Infinity : this.#x(to), this.#x(end));
      const room = stop - start >= length;
      attribute(shown, "visibility", room ? null : "hidden");
      attribute(shown, "x", start.toFixed(1));
    }
    this.#placeFaultLabels(this.#x(end));
  }

  /** What was done stands to the right of its mark, or to the left of it, or nowhere if there is no room. */
  #placeFaultLabels(right) {
    const marks = this.#faultLabels.map((label) => label.x);
    let free = -Infinity;
    for (const { shown, x, needed } of [...this.#faultLabels].sort((a, b) => a.x - b.x)) {
      const after = x + needed < right && marks.every((other) => other <= x || other > x + needed);
      const before = !after && x - needed > free && marks.every((other) => other >= x || other < x - needed + 12);
      attribute(shown, "visibility", after || before ? null : "hidden");
      attribute(shown, "x", before ? x - 13 : x + 13);
      attribute(shown, "text-anchor", before ? "end" : null);
      free = after ? x + needed : x;
    }
  }

  #drawFault(fault) {
    const x = this.#x(fault.at);
    const badge = svg("g", {}, svg("circle", { "class": "fault-dot", cx: x, cy: 11, r: 9 }),
        this.#label("fault-number", x, 15, fault.id), svg("title"));
    badge.lastChild.textContent = title(fault);
    const label = this.#label("fault-label", x + 13, 15, title(fault));
    const shown = [svg("line", { "class": "fault-line", x1: x, x2: x, y1: 20, y2: this.#height() }), badge];
    shown.push(label);
    this.#faultLabels.push({ shown: label, x, needed: label.textContent.length * 6.8 + 26 });
    if (this.#history.nodes.includes(fault.node)) {
      shown.push(svg("circle", { "class": "fault-place", cx: x, cy: this.#lane(fault.node) + 30, r: 5 }));
    }
    return shown;
  }

  #drawGrid(end) {
    const step = STEPS[this.#span];
    const first = Math.floor((end - this.#span * 1000) / step);
    const lines = [];
    for (let index = first; index * step <= end + step; index++) {
      const x = this.#x(index * step).toFixed(1);
      lines.push(svg("line", { x1: x, x2: x, y1: TOP, y2: this.#height() }));
      if (this.#width >= 480 || index % 2 === 0) {
        lines.push(this.#label("axis", x, this.#height() + 16, time(index * step)));
      }
    }
    this.#grid.replaceChildren(...lines);
  }

  #describe() {
    const nodes = this.#history.nodes.map((name) => {
      const ticks = table.ticksSince(this.#history, name, this.#state.now - 60_000);
      return name + ": " + plural(ticks.leader, "tick") + " of the leader-only job, " + ticks.all + " of the other.";
    });
    const seams = this.#history.seams();
    const twice = seams.filter((seam) => seam.kind === "overlap").length;
    attribute(this.#plot, "aria-label", "Timeline of the last minute. " + nodes.join(" ") + " "
        + plural(seams.length, "change") + " of leader, in " + twice + " of them two led at once. "
        + "The same is below as a table.");
  }

  #showTable() {
    if (this.#state && byId("timeline-details").open && this.#end === null) {
      table.show(this.#history, this.#state.now);
    }
  }
}

function hatching() {
  return svg("defs", {}, svg("pattern", { id: "hatching", width: 5, height: 5, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" }, svg("line", { "class": "hatch", x1: 0, x2: 0, y1: 0, y2: 5 })));
}

// What was done, what was expected with the configured lease, and what happened.

import { now } from "./clock.js";
import { colourOf } from "./colours.js";
import { attribute, byId, element, reconcile, text } from "./dom.js";
import { millis, span, time } from "./format.js";
import { expected, figures, isKnown, isLate, isOvertaken, overtaken, result, title } from "./words.js";

const SHOWN = 10;

/** How old a fault may be to be shown on the timeline. */
const DRAWN = 140_000;

let waiting = [];
let all = false;
const parts = new WeakMap();

export function enableShowingAll(again) {
  byId("all-faults").addEventListener("click", () => {
    all = !all;
    again();
  });
}

export function show(state, onShow) {
  const list = byId("faults");
  byId("no-faults").hidden = state.faults.length > 0;
  byId("all-faults").hidden = state.faults.length <= SHOWN;
  text(byId("all-faults"), all ? "Show the last " + SHOWN : "Show all " + state.faults.length);
  const focused = list.contains(document.activeElement);
  reconcile(list, all ? state.faults : state.faults.slice(0, SHOWN), (fault) => fault.id,
      (fault) => create(fault, onShow), update);
  if (focused && !list.contains(document.activeElement)) {
    byId("faults-title").focus();
  }
  waiting = [...list.children].filter((row) => row.dataset.outcome === "waiting");
  frame();
}

export function frame() {
  for (const row of waiting) {
    const { fault, happened } = parts.get(row);
    text(happened, "Watching, for " + span(now() - fault.at) + "\u2026");
  }
}

function create(fault, onShow) {
  const own = {
    fault,
    happened: element("span", { "data-testid": "fault-happened" }),
    gauge: element("div", { "class": "gauge", "aria-hidden": "true" }, element("div")),
    figures: element("dl", { "class": "figures" }),
    seek: element("button", { type: "button", "class": "quiet", "aria-label": "Show on the timeline: " + title(fault) },
        "Show on the timeline")
  };
  own.seek.addEventListener("click", () => {
    if (own.seek.getAttribute("aria-disabled") !== "true") {
      onShow(own.fault);
    }
  });
  const row = element("li", { "class": "fault", "data-testid": "fault-" + fault.id, "data-action": fault.action },
      element("div", { "class": "fault-what" },
          element("span", { "class": "number" }, String(fault.id)),
          element("h3", { "class": "node-name " + colourOf(fault.node) }, title(fault)),
          element("time", { datetime: new Date(fault.at).toISOString(), "class": "muted" }, time(fault.at, 3)),
          element("p", { "class": "expected", "data-testid": "fault-expect" }, expected(fault))),
      element("div", { "class": "fault-outcome" }, element("p", { "class": "result" }, own.happened), own.gauge),
      own.figures, own.seek);
  parts.set(row, own);
  return row;
}

function update(row, fault) {
  const own = parts.get(row);
  const { outcome } = fault;
  own.fault = fault;
  attribute(row, "data-outcome", outcome ? "known" : isOvertaken(fault) ? "overtaken" : "waiting");
  attribute(own.seek, "aria-disabled", (now() - fault.at > DRAWN) ? "true" : null);
  own.figures.hidden = !outcome;
  showGauge(own.gauge, fault);
  if (outcome) {
    showResult(own, result(fault));
    reconcile(own.figures, figures(fault), (figure) => figure.name, createFigure, updateFigure);
  }
  else if (isOvertaken(fault)) {
    text(own.happened, overtaken(fault));
  }
}

function showResult(own, { who, what, millis: took, rest }) {
  const shown = [who, what, took, rest].join("|");
  if (own.shown === shown) {
    return;
  }
  own.shown = shown;
  own.happened.replaceChildren(...(isKnown(took) ? [element("strong", { "data-testid": "fault-leader" }, who), what,
    element("strong", { "class": "took", "data-testid": "fault-millis" }, millis(took))] : []), rest);
}

function createFigure(figure) {
  return element("div", {}, element("dt", {}, figure.label), element("dd", { "data-testid": "fault-" + figure.name }));
}

function updateFigure(created, figure) {
  attribute(created, "data-bad", figure.bad);
  attribute(created, "data-known", figure.known);
  text(created.lastChild, (figure.bad ? "\u26a0 " : "") + figure.value);
}

/** How much of the bound it took, where there is one. */
function showGauge(gauge, fault) {
  const { boundMillis: bound, outcome } = fault;
  gauge.hidden = !isKnown(bound) || !isKnown(outcome?.millis);
  if (!gauge.hidden) {
    attribute(gauge, "data-late", isLate(fault));
    gauge.firstChild.style.transform = "scaleX(" + Math.min(1, outcome.millis / bound) + ")";
  }
}

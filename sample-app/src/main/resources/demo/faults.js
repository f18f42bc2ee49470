// What was done, what was to be expected by the configured lease, and what happened.

import { now } from "./clock.js";
import { colourOf } from "./colours.js";
import { announce, attribute, byId, element, reconcile, text } from "./dom.js";
import { millis, plural, span, time } from "./format.js";

const DONE = {
  kill: "kill -9 of",
  freeze: "Freeze of",
  thaw: "Thaw of",
  cut: "Cut off",
  reconnect: "Reconnect",
  resign: "Resign by",
  start: "Start of"
};

/** What the time of an outcome means, where it is not how long it took until another node led. */
const RECOVERY = {
  thaw: " has looked at the clock after ",
  reconnect: " is in touch with the database after ",
  start: " is up and stands after "
};

/** What a measurement may exceed a bound by, on a machine that does other things too. */
const MOMENT = 100;

const SHOWN = 10;

const SHORT = { kill: "kill -9", freeze: "freeze", cut: "cut off", resign: "resign" };

let known = null;
let waiting = [];
let all = false;
const parts = new WeakMap();

export function enableShowingAll() {
  byId("all-faults").addEventListener("click", () => {
    all = !all;
  });
}

export const title = (fault) => (DONE[fault.action] ?? fault.action) + " " + (fault.node ?? "");

export function show(state, onShow) {
  byId("no-faults").hidden = state.faults.length > 0;
  const shown = all ? state.faults : state.faults.slice(0, SHOWN);
  byId("all-faults").hidden = state.faults.length <= SHOWN;
  text(byId("all-faults"), all ? "Show the last " + SHOWN : "Show all " + state.faults.length);
  reconcile(byId("faults"), shown, (fault) => fault.id, (fault) => create(fault, onShow), update);
  waiting = state.faults.filter((fault) => !fault.outcome);
  showLatest(state.faults[0]);
  showSummary(state.faults);
  tell(state.faults);
  frame();
}

export function frame() {
  for (const fault of waiting) {
    const row = byId("faults").querySelector('[data-testid="fault-' + CSS.escape(fault.id) + '"]');
    if (row) {
      text(parts.get(row).happened, "Watching, for " + span(now() - fault.at) + "\u2026");
    }
  }
}

function create(fault, onShow) {
  const own = {
    result: element("p", { "class": "result" }),
    happened: element("span", { "data-testid": "fault-happened" }),
    gauge: element("div", { "class": "gauge", "aria-hidden": "true" }, element("div")),
    figures: element("dl", { "class": "figures" })
  };
  const name = element("h3", { "class": "node-name " + colourOf(fault.node) });
  name.textContent = title(fault);
  const when = element("time", { datetime: new Date(fault.at).toISOString(), "class": "muted" });
  when.textContent = time(fault.at, 3);
  const expected = element("p", { "class": "expected", "data-testid": "fault-expect" });
  expected.textContent = "Expected: " + fault.expect;
  const seek = element("button", { type: "button", "class": "quiet", "aria-label": "Show on the timeline: "
      + title(fault) });
  seek.textContent = "Show on the timeline";
  seek.addEventListener("click", () => onShow(fault));
  own.seek = seek;
  own.result.append(own.happened);
  const row = element("li", { "class": "fault", "data-testid": "fault-" + fault.id, "data-action": fault.action },
      element("div", { "class": "fault-what" }, number(fault), name, when, expected),
      element("div", { "class": "fault-outcome" }, own.result, own.gauge), own.figures, seek);
  parts.set(row, own);
  return row;
}

function number(fault) {
  const badge = element("span", { "class": "number" });
  badge.textContent = fault.id;
  return badge;
}

function update(row, fault) {
  const own = parts.get(row);
  const { outcome } = fault;
  attribute(row, "data-outcome", outcome ? "known" : "waiting");
  own.seek.hidden = now() - fault.at > 110_000;
  own.figures.hidden = !outcome;
  own.gauge.hidden = true;
  if (!outcome) {
    return;
  }
  if (isKnown(outcome.millis)) {
    if (!own.millis) {
      own.who = element("strong", { "data-testid": "fault-leader" });
      own.millis = element("strong", { "class": "took", "data-testid": "fault-millis" });
      own.after = element("span");
      own.happened.replaceChildren(own.who, RECOVERY[fault.action] ?? " leads after ", own.millis, own.after);
    }
    text(own.who, RECOVERY[fault.action] ? fault.node : outcome.leader);
    text(own.millis, millis(outcome.millis));
    text(own.after, RECOVERY[fault.action] ? ". " + leads(fault) : "");
    attribute(own.millis, "data-millis", outcome.millis);
    gauge(own.gauge, fault);
  }
  else {
    text(own.happened, leads(fault));
  }
  reconcile(own.figures, figures(fault), (figure) => figure.name, createFigure, updateFigure);
}

function figures({ action, outcome }) {
  const { overlapMillis: overlap, missedTicks: missed } = outcome;
  const unknown = (action === "freeze") ? "known when thawed" : "not known yet";
  return [
    { name: "overlap", label: "Two leaders at once", value: isKnown(overlap) ? millis(overlap) : unknown,
      bad: overlap > 0, known: isKnown(overlap) },
    ...(isKnown(missed) ? [{ name: "missed", label: "Missed ticks", value: String(missed), bad: false, known: true }]
      : [])
  ];
}

const isKnown = (figure) => Number.isFinite(figure);

function createFigure(figure) {
  const term = element("dt");
  term.textContent = figure.label;
  return element("div", {}, term, element("dd", { "data-testid": "fault-" + figure.name }));
}

function updateFigure(created, figure) {
  created.dataset.bad = figure.bad;
  created.dataset.known = figure.known;
  text(created.lastChild, (figure.bad ? "\u26a0 " : "") + figure.value);
}

/** How much of the bound it took, where the expectation names one. */
function gauge(shown, fault) {
  const bound = 1000 * /within ([\d.]+) s/.exec(fault.expect)?.[1];
  shown.hidden = !(bound > 0);
  if (bound > 0) {
    shown.dataset.late = fault.outcome.millis > bound + MOMENT;
    shown.firstChild.style.transform = "scaleX(" + Math.min(1, fault.outcome.millis / bound) + ")";
  }
}

function leads({ outcome, node, action }) {
  if (!outcome.leader) {
    return "Nobody leads.";
  }
  if (RECOVERY[action]) {
    return outcome.leader + " leads.";
  }
  return outcome.leader + (outcome.leader === node ? " still leads." : " leads as before.");
}

function told(fault) {
  const { outcome } = fault;
  if (!outcome) {
    return title(fault) + ". Expected: " + fault.expect + ".";
  }
  const recovery = RECOVERY[fault.action];
  const what = !isKnown(outcome.millis) ? leads(fault)
    : recovery ? fault.node + recovery + millis(outcome.millis) + ". " + leads(fault)
    : outcome.leader + " leads after " + millis(outcome.millis) + ".";
  return [title(fault) + ": " + what, isKnown(outcome.overlapMillis)
      && "Two leaders at once: " + millis(outcome.overlapMillis) + ".",
    isKnown(outcome.missedTicks) && plural(outcome.missedTicks, "tick") + " missed."].filter(Boolean).join(" ");
}

function showLatest(fault) {
  const latest = byId("latest");
  if (fault) {
    text(latest, told(fault));
    attribute(latest, "data-outcome", fault.outcome ? "known" : "waiting");
  }
}

const median = (sorted) => (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;

/** Per action that moved leadership: how often, and how long it took. */
function showSummary(faults) {
  const taken = new Map();
  for (const { action, outcome } of faults) {
    if (!RECOVERY[action] && isKnown(outcome?.millis)) {
      taken.set(action, [...(taken.get(action) ?? []), outcome.millis].sort((a, b) => a - b));
    }
  }
  reconcile(byId("summary"), [...taken], ([action]) => action, () => element("li"), (item, [action, times]) => {
    text(item, (SHORT[action] ?? action) + " \u00d7 " + times.length + ": "
        + (times.length === 1 ? millis(times[0]) : "median " + millis(median(times)) + ", at most "
        + millis(times.at(-1))));
  });
}

function tell(faults) {
  const now = new Map(faults.map((fault) => [fault.id, Boolean(fault.outcome)]));
  if (known !== null) {
    faults.filter((fault) => known.get(fault.id) !== Boolean(fault.outcome)).reverse().map(told).forEach(announce);
  }
  known = now;
}

// Who leads, in one sentence.

import { canLead } from "./actions.js";
import { now } from "./clock.js";
import { colourOf } from "./colours.js";
import { announce, byId, element, text } from "./dom.js";
import { millis, seconds, span, time } from "./format.js";
import { latestOf, leadingTerms, lengthOf, seamsOf } from "./seams.js";
import { isTable, waiting } from "./store.js";
import { isPending } from "./summary.js";

let shown = null;
let since = null;
let warned = null;

export function show(state) {
  const leading = leadingTerms(state.terms);
  const last = latestOf(state.terms);
  const quiet = state.faults.some(isPending);
  since = (leading.length === 1) ? leading[0].from : null;
  if (leading.length === 1) {
    sentence("leads", [name(leading[0].node, "headline-leader"), " leads"], quiet);
    sub("In term ", part("term", leading[0].term), " (terms only increase), since ",
        part("since", time(since)), ", for ", part("age", ""), ". If the leader is silent, " + waiting(state) + " for the lease, "
        + seconds(state.lease) + ".");
  }
  else if (leading.length > 1) {
    const names = leading.flatMap(({ node }, index) => [(index > 0) ? " and " : "", name(node, "headline-leader")]);
    sentence("several", [...names, (leading.length === 2) ? " both report that they lead" : " all report that they lead"],
        false);
    sub("This must never happen. Please report it.");
  }
  else if (last?.provisional && last.to > now()) {
    sentence("last", [name(last.node, "headline-last"), " led in its last report"], quiet);
    sub(whyNoLeader(state, last));
  }
  else {
    const starting = state.nodes.every((node) => node.process === "starting");
    sentence("none", [starting ? "The nodes are starting"
        : last?.provisional ? "No node is known to lead" : "No node leads"], quiet);
    sub((last && !starting) ? whyNoLeader(state, last) : "");
  }
  warn(state.terms);
  frame();
}

export function frame() {
  if (since !== null) {
    text(byId("sub").querySelector(".age"), span(now() - since));
  }
}

function whyNoLeader(state, { node: name, provisional }) {
  const node = state.nodes.find((other) => other.name === name);
  if (!state.nodes.some((other) => other !== node && canLead(other))) {
    return "No other node could lead now: start, thaw or reconnect one.";
  }
  const why = (node.process === "frozen") ? "is frozen" : node.cut ? "is cut off"
      : (provisional && node.process === "running") ? "is silent" : null;
  return why ? name + " " + why + ": the next node leads when its lease has expired, "
      + (isTable(state) ? "at most " + seconds(state.silence) : seconds(state.lease)) + " after it last reached the database." : name + " led last.";
}

/** A warning about two leaders at once stays on the page. */
function warn(terms) {
  const twice = seamsOf(terms, now()).filter((seam) => seam.kind === "overlap").at(-1);
  byId("overlap").hidden = !twice;
  if (twice) {
    text(byId("overlap"), "\u26a0 Two nodes led at once for " + millis(lengthOf(twice, now())) + ", from "
        + time(twice.from, 3) + ". This must never happen. Please report it.");
    if (warned !== twice.before) {
      warned = twice.before;
      announce(byId("overlap").textContent);
    }
  }
}

function sentence(state, parts, quiet) {
  const headline = byId("headline");
  headline.dataset.state = state;
  const words = parts.map((one) => one.textContent ?? one).join("");
  if (shown === words) {
    return;
  }
  shown = words;
  headline.replaceChildren(...parts);
  document.title = words + " \u00b7 leader-election-starter";
  if (!quiet) {
    announce(words + ".");
  }
}

function sub(...parts) {
  const words = parts.map((one) => one.textContent ?? one).join("");
  if (byId("sub").dataset.words !== words) {
    byId("sub").dataset.words = words;
    byId("sub").replaceChildren(...parts);
  }
}

function name(node, testId) {
  const part = element("span", { "class": "name " + colourOf(node), "data-testid": testId });
  part.textContent = node;
  return part;
}

function part(what, value) {
  const created = element("span", { "class": what, "data-testid": "headline-" + what });
  created.textContent = value;
  return created;
}

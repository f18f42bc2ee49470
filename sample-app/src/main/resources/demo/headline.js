// Who leads, in one sentence.

import { leadsNow } from "./actions.js";
import { announce, byId, element, text } from "./dom.js";
import { seconds, span, time } from "./format.js";
import { now } from "./clock.js";
import { colourOf } from "./colours.js";

let shown = null;
let since = null;
let facts = "";

export function show(state) {
  const leaders = state.nodes.filter(leadsNow);
  since = null;
  facts = "Lease " + seconds(state.lease) + ", takeover delay " + seconds(state.takeoverDelay) + ".";
  if (leaders.length === 1) {
    const { node, term, since: from } = leaderOf(leaders[0]);
    since = new Date(from).getTime();
    sentence("leads", node + "/" + term, [name(node), " leads since ", part("since", time(since)), " in term ",
        part("term", term)]);
  }
  else if (leaders.length > 1) {
    const names = leaders.flatMap((node, index) => [(index > 0) ? " and " : "", name(node.name)]);
    sentence("several", leaders.map((node) => node.name).join("+"), [...names, " both say that they lead."]);
  }
  else {
    const starting = state.nodes.length > 0 && state.nodes.every((node) => node.process === "starting");
    sentence("none", String(starting), [starting ? "The nodes are starting." : "Nobody leads at the moment."]);
    facts = whyNobody(state) + facts;
  }
  frame();
}

export function frame() {
  text(byId("sub"), (since === null ? "" : "For " + span(now() - since) + ". ") + facts);
}

function leaderOf(node) {
  const { term, since: from, leader } = node.leadership;
  return { node: node.name, term: term ?? leader?.term ?? "\u2013", since: from ?? leader?.since };
}

function whyNobody(state) {
  const last = state.terms.reduce((latest, term) => (!latest || term.from > latest.from ? term : latest), null);
  const node = last && state.nodes.find((other) => other.name === last.node);
  if (!node) {
    return "";
  }
  if (node.process === "frozen") {
    return node.name + " led last and is frozen: the next leads when its lease is over. ";
  }
  if (node.cut) {
    return node.name + " led last and is cut off: the next leads when its lease is over. ";
  }
  return node.name + " led last. ";
}

function sentence(state, key, parts) {
  if (shown === key) {
    return;
  }
  shown = key;
  const headline = byId("headline");
  headline.dataset.state = state;
  headline.replaceChildren(...parts);
  document.title = headline.textContent + " \u00b7 leader-election-starter";
  announce(headline.textContent);
}

function name(node) {
  const part = element("span", { "class": "name " + colourOf(node), "data-testid": "headline-leader" });
  part.textContent = node;
  return part;
}

function part(what, value) {
  const created = element("span", { "class": what, "data-testid": "headline-" + what });
  created.textContent = value;
  return created;
}

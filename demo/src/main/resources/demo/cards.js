// A card for each node: its last report, the age of that report, and the actions on the node.

import { actionsOf } from "./actions.js";
import { further, once, outdate, toNode } from "./ask.js";
import { now } from "./clock.js";
import { colourOf } from "./colours.js";
import { attribute, byId, element, reconcile, text } from "./dom.js";
import { seconds, span, time } from "./format.js";
import { createLease, isOld, leads, roleOf, showLease } from "./lease.js";
import { waiting } from "./store.js";

const PROCESS = {
  starting: "\u25cc starting",
  running: "\u25b6 running",
  frozen: "\u2744 frozen",
  dead: "\u2715 dead"
};

const ROLE = {
  leader: "\u2605 Leader",
  follower: "Follower",
  elected: "Elected",
  resigning: "Resigning",
  stopped: "Stopped"
};

const parts = new WeakMap();
let state = null;

export function enableAdding() {
  byId("add").addEventListener("click", () => once(byId("add"), further, byId("add-reply")));
}

export function show(newState) {
  state = newState;
  text(byId("trust"), "After each confirmation, a leader trusts its leadership for " + seconds(state.trust)
      + ", three quarters of its lease. Meanwhile, " + waiting(state) + " for the whole lease, " + seconds(state.lease)
      + ". Therefore a silent leader stops leading before the next node leads.");
  outdate(byId("add-reply"), state.nodes.map((node) => node.process).join());
  reconcile(byId("cards"), state.nodes, (node) => node.name, create, update);
  frame();
}

/** What changes between two messages: the remaining lease and the age of the report. */
export function frame() {
  for (const card of byId("cards").children) {
    const own = parts.get(card);
    showAge(own, own.node);
    showLease(own.lease, own.node, state);
  }
}

function create(node) {
  const id = "node-" + node.name.replace(/[^\w-]/g, "_");
  const tested = (name, what, attributes = {}) => element(name, { "data-testid": what, ...attributes });
  const own = {
    name: element("h3", { id }, node.name),
    role: tested("span", "role", { "class": "role" }),
    process: tested("span", "process", { "class": "process" }),
    cut: tested("span", "cut", { "class": "cut" }),
    term: tested("dd", "term", { "class": "term" }),
    leader: tested("dd", "leader"),
    confirmation: tested("dd", "confirmation"),
    health: tested("dd", "health"),
    work: tested("dd", "ticks"),
    pid: tested("span", "pid"),
    link: element("a", { "aria-label": "leadership endpoint of " + node.name }, "leadership endpoint"),
    lease: createLease(id),
    remark: tested("p", "remark", { "class": "remark" }),
    reply: tested("p", "reply", { "class": "reply" }),
    actions: element("ul", { "class": "actions", "aria-label": "Actions on " + node.name }),
    buttons: new Map()
  };
  const facts = element("dl", { "class": "facts" }, fact("Term", own.term), fact("Leader it reports", own.leader),
      fact("Last confirmation", own.confirmation), fact("Health", own.health), fact("Runs, leader / all", own.work),
      fact("Process", element("dd", {}, own.pid, own.link)));
  const card = element("li", { "class": "card " + colourOf(node.name), "data-testid": "node-" + node.name },
      element("article", { "aria-labelledby": id },
          element("header", {}, own.name, own.role, own.process, own.cut),
          own.lease.shown, facts, own.remark, own.actions, own.reply));
  parts.set(card, own);
  return card;
}

function fact(name, value) {
  return element("div", {}, element("dt", {}, name), value);
}

function update(card, node) {
  const own = parts.get(card);
  const { leadership } = node;
  const role = roleOf(node);
  own.node = node;
  attribute(card, "data-role", role ?? "none");
  attribute(card, "data-process", node.process);
  attribute(card, "data-cut", Boolean(node.cut));
  attribute(card, "data-old", isOld(node));
  text(own.role, (ROLE[role] ?? role ?? "No role") + (role && isOld(node) ? ", in its last report" : ""));
  text(own.process, PROCESS[node.process] ?? String(node.process));
  text(own.cut, node.cut ? "\u2702 cut off" : "");
  own.cut.hidden = !node.cut;
  text(own.term, leads(node) ? leadership.term ?? "\u2013" : "\u2013");
  text(own.leader, (node.process !== "dead" && leadership?.leader?.node)
      ? leadership.leader.node + (leadership.leader.term ? " \u00b7 " + leadership.leader.term : "") : "\u2013");
  text(own.health, node.process === "dead" ? "\u2013" : node.health ?? "no answer");
  attribute(own.health, "data-health", node.health ?? "none");
  text(own.work, (node.leaderTicks ?? "\u2013") + " / " + (node.allTicks ?? "\u2013"));
  text(own.pid, node.process === "dead" ? "pid " + node.pid + ", ended" : "pid " + node.pid);
  own.link.hidden = node.process !== "running" || !/^https?:/.test(node.url ?? "");
  attribute(own.link, "href", own.link.hidden ? null : node.url.replace(/\/$/, "") + "/actuator/leadership");
  text(own.remark, remarkOn(node));
  own.remark.hidden = !own.remark.textContent;
  outdate(own.reply, [node.process, node.cut, node.pid].join("|"));
  showActions(own, node);
}

function remarkOn(node) {
  if (node.process === "frozen") {
    return "It is frozen and cannot answer: this is its last report.";
  }
  if (node.process === "dead" || !node.leadership) {
    return "";
  }
  const { problem, blockedBy, workInFlight, role } = node.leadership;
  return [problem && (problem.startsWith("is not a candidate") ? problem : "Problem: " + problem), blockedBy && "Waits for: " + blockedBy,
    role === "resigning" && "Work in flight: " + workInFlight].filter(Boolean).join(" ");
}

function showAge(own, node) {
  const confirmed = node.leadership?.lastConfirmation;
  text(own.confirmation, (confirmed && node.process !== "dead")
      ? span(now() - new Date(confirmed).getTime()) + " ago" : "\u2013");
  attribute(own.confirmation, "title", confirmed ? time(confirmed, 3) : null);
}

function showActions(own, node) {
  for (const { slot, action, label, enabled, hint } of actionsOf(node, state)) {
    if (!own.buttons.has(slot)) {
      own.buttons.set(slot, createAction(own, node.name, slot));
    }
    const { button, explanation } = own.buttons.get(slot);
    const possible = enabled && state.live;
    attribute(button, "data-action", action);
    attribute(button, "data-testid", "action-" + action);
    attribute(button, "aria-label", label + " " + node.name);
    attribute(button, "aria-disabled", possible ? null : "true");
    text(button, label);
    text(explanation, hint);
  }
}

function createAction(own, name, slot) {
  const id = "hint-" + slot + "-" + name.replace(/[^\w-]/g, "_");
  const button = element("button", { type: "button", "aria-describedby": id });
  const explanation = element("span", { "class": "hint", id });
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-disabled") !== "true") {
      once(button, () => toNode(name, button.dataset.action), own.reply);
    }
  });
  own.actions.append(element("li", {}, button, explanation));
  return { button, explanation };
}

// A card for each node: what it says of itself, how fresh that is, and what can be done to it.

import { actionsOf, ask, askNode, leadsNow } from "./actions.js";
import { now } from "./clock.js";
import { colourOf } from "./colours.js";
import { attribute, byId, calm, element, reconcile, text } from "./dom.js";
import { duration, seconds, span, time } from "./format.js";

const PROCESS = {
  starting: "\u25cc starting",
  running: "\u25b6 running",
  frozen: "\u2744 frozen",
  dead: "\u2715 dead"
};

const ROLE = {
  leader: "\u2605 Leader",
  follower: "Follower",
  candidate: "Candidate",
  resigning: "Resigning",
  stopped: "Stopped"
};

/** How old what a node said may be before the page calls it old. */
const FRESH = 1500;

let state = null;
let parts = new WeakMap();

export function show(newState) {
  state = newState;
  showLeaderActions();
  reconcile(byId("cards"), state.nodes, (node) => node.name, create, update);
  frame();
}

/** What moves between two messages: the lease and the age of what was said. */
export function frame() {
  if (!state) {
    return;
  }
  for (const card of byId("cards").children) {
    const node = state.nodes.find((other) => other.name === card.dataset.key);
    if (node) {
      showAge(parts.get(card), node);
      showLease(parts.get(card), node);
    }
  }
}

export function enableAdding() {
  const button = byId("add");
  button.addEventListener("click", () => once(button, () => ask("api/nodes"), byId("add-reply")));
}

function create(node) {
  const id = "node-" + node.name.replace(/[^\w-]/g, "_");
  const tested = (name, what, attributes = {}) => element(name, { "data-testid": what, ...attributes });
  const own = {
    name: element("h3", { id }),
    role: tested("span", "role", { "class": "role" }),
    process: tested("span", "process", { "class": "process" }),
    cut: tested("span", "cut", { "class": "cut" }),
    term: tested("dd", "term"),
    leader: tested("dd", "leader"),
    confirmation: tested("dd", "confirmation"),
    health: tested("dd", "health"),
    work: tested("dd", "ticks"),
    pid: tested("a", "pid"),
    leaseText: tested("p", "lease-text", { "class": "lease-text", id: id + "-lease" }),
    lease: tested("div", "lease", { "class": "lease", role: "meter", "aria-label": "Lease left, in seconds",
      "aria-describedby": id + "-lease", "aria-valuemin": "0" }),
    bar: element("div", { "class": "lease-bar" }),
    remark: tested("p", "remark", { "class": "remark" }),
    reply: tested("p", "reply", { "class": "reply" }),
    actions: element("ul", { "class": "actions", "aria-label": "What to do to " + node.name }),
    buttons: new Map()
  };
  own.lease.append(own.bar);
  own.name.textContent = node.name;
  const facts = element("dl", { "class": "facts" }, fact("Term", own.term), fact("Leader it sees", own.leader),
      fact("Last confirmation", own.confirmation), fact("Health", own.health), fact("Ticks, leader / all", own.work),
      fact("Process", element("dd", {}, own.pid)));
  const card = element("li", { "class": "card " + colourOf(node.name), "data-testid": "node-" + node.name },
      element("article", { "aria-labelledby": id },
          element("header", {}, own.name, own.role, own.process, own.cut),
          element("div", { "class": "lease-row" }, own.leaseText, own.lease), facts, own.remark, own.actions,
          own.reply));
  parts.set(card, own);
  return card;
}

function fact(name, value) {
  const term = element("dt");
  term.textContent = name;
  return element("div", {}, term, value);
}

function update(card, node) {
  const own = parts.get(card);
  const { leadership } = node;
  const role = roleOf(node);
  attribute(card, "data-role", role ?? "none");
  attribute(card, "data-process", node.process);
  attribute(card, "data-cut", Boolean(node.cut));
  attribute(card, "data-old", isOld(node));
  text(own.role, (ROLE[role] ?? role ?? "No role") + (role && isOld(node) ? ", when last heard" : ""));
  text(own.process, PROCESS[node.process] ?? String(node.process));
  text(own.cut, node.cut ? "\u2702 cut off" : "");
  own.cut.hidden = !node.cut;
  text(own.term, (role === "leader" || role === "resigning") ? leadership.term ?? "\u2013" : "\u2013");
  text(own.leader, (node.process !== "dead" && leadership?.leader?.node)
      ? leadership.leader.node + (leadership.leader.term ? " \u00b7 " + leadership.leader.term : "") : "\u2013");
  text(own.health, node.process === "dead" ? "\u2013" : node.health ?? "no answer");
  attribute(own.health, "data-health", node.health ?? "none");
  text(own.work, (node.leaderTicks ?? 0) + " / " + (node.allTicks ?? 0));
  text(own.pid, node.process === "dead" ? "pid " + node.pid + ", ended" : "pid " + node.pid);
  attribute(own.pid, "href", node.process === "running" && /^https?:/.test(node.url ?? "")
      ? node.url.replace(/\/$/, "") + "/actuator/leadership" : null);
  text(own.remark, remarkOn(node));
  own.remark.hidden = !own.remark.textContent;
  showActions(own, node);
}

function roleOf(node) {
  return (node.process === "dead" || node.process === "starting") ? null : node.leadership?.role ?? null;
}

function isOld(node) {
  return node.process !== "dead" && Boolean(node.leadership) && (node.process === "frozen"
      || Boolean(node.leadership.stale) || now() - node.seenAt > FRESH);
}

function remarkOn(node) {
  if (node.process === "frozen") {
    return "It stands still and cannot answer: this is what it said last.";
  }
  if (node.process === "dead" || !node.leadership) {
    return "";
  }
  const { problem, blockedBy, workInFlight, role } = node.leadership;
  return [problem && "Problem: " + problem, blockedBy && "Waits for: " + blockedBy,
    role === "resigning" && "Work in flight: " + workInFlight].filter(Boolean).join(" ");
}

function showAge(own, node) {
  const confirmed = node.leadership?.lastConfirmation;
  text(own.confirmation, (confirmed && node.process !== "dead")
      ? span(now() - new Date(confirmed).getTime()) + " ago" : "\u2013");
  attribute(own.confirmation, "title", confirmed ? time(confirmed, 3) : null);
}

function showLease(own, node) {
  const lease = duration(node.leadership?.lease) || state.lease;
  const remaining = remainingOf(node);
  text(own.leaseText, leaseText(node, remaining, lease));
  attribute(own.lease, "aria-valuemax", lease / 1000);
  attribute(own.lease, "aria-valuenow", (remaining / 1000).toFixed(1));
  attribute(own.lease, "data-remaining", Math.round(remaining));
  const share = Math.min(1, remaining / lease);
  own.bar.style.transform = "scaleX(" + (calm.matches ? Math.round(share * 20) / 20 : share.toFixed(4)) + ")";
}

/** What is left of a lease by now: it runs out by the clock, whether the process can look at it or not. */
function remainingOf(node) {
  const role = roleOf(node);
  if (role !== "leader" && role !== "resigning") {
    return 0;
  }
  const said = duration(node.leadership.leaseRemaining);
  return Math.max(0, (Number.isFinite(said) ? said : 0) - Math.max(0, now() - node.seenAt));
}

function leaseText(node, remaining, lease) {
  if (node.process === "dead") {
    return "No lease: it ended with the process";
  }
  const role = roleOf(node);
  if (role !== "leader" && role !== "resigning") {
    return role === null ? "No lease" : "No lease: it does not lead";
  }
  const left = span(remaining) + " of " + seconds(lease) + " left";
  if (remaining <= 0) {
    return "Lease over" + (node.process === "frozen" ? ", though it cannot know yet" : "");
  }
  return "Lease: " + left + (isOld(node) ? ", by the clock (it is silent)" : "");
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
      once(button, () => askNode(name, button.dataset.action), own.reply);
    }
  });
  own.actions.append(element("li", {}, button, explanation));
  return { button, explanation };
}

async function once(button, asked, reply) {
  if (button.getAttribute("aria-busy") === "true") {
    return;
  }
  button.setAttribute("aria-busy", "true");
  const answer = await asked();
  button.removeAttribute("aria-busy");
  text(reply, answer.message);
  reply.dataset.ok = answer.ok;
}

/** The buttons beside the headline: they do to the leader of the moment what those on its card do. */
export function enableLeaderActions() {
  for (const button of byId("leader-actions").querySelectorAll("button")) {
    button.addEventListener("click", () => {
      const [leader] = leaders();
      if (leader && state.live) {
        once(button, () => askNode(leader.name, button.dataset.action), byId("leader-reply"));
      }
    });
  }
}

function showLeaderActions() {
  const possible = leaders().length === 1 && state.live;
  for (const button of byId("leader-actions").querySelectorAll("button")) {
    attribute(button, "aria-disabled", possible ? null : "true");
  }
}

const leaders = () => state.nodes.filter(leadsNow);

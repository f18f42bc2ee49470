// The page of the demo: one state, four times a second, and a view for each part of it.

import * as cards from "./cards.js";
import { heard } from "./clock.js";
import { colourOf } from "./colours.js";
import * as counter from "./counter.js";
import { announce, byId, calm, text } from "./dom.js";
import * as faults from "./faults.js";
import { duration, time } from "./format.js";
import * as headline from "./headline.js";
import { connect } from "./stream.js";
import { Timeline } from "./timeline.js";

const timeline = new Timeline();
let last = null;

function onState(message) {
  heard(message.now);
  message.nodes?.forEach((node) => colourOf(node.name));
  const returned = last && !last.live;
  last = { ...message, live: true, lease: duration(message.lease), takeoverDelay: duration(message.takeoverDelay),
    nodes: message.nodes ?? [], ticks: message.ticks ?? [], terms: message.terms ?? [], faults: message.faults ?? [] };
  connection("live", "Live");
  byId("lost").hidden = true;
  if (returned) {
    announce("The demo answers again.");
  }
  show();
}

function show() {
  headline.show(last);
  counter.show(last);
  cards.show(last);
  timeline.show(last);
  faults.show(last, (fault) => timeline.seek(fault.at));
}

function onLost() {
  connection("lost", "Connection lost");
  if (last === null) {
    lost("The demo does not answer. Trying again every second.");
  }
  else if (last.live) {
    last.live = false;
    lost("The connection to the demo is lost. What you see is as of " + time(last.now)
        + ". Trying again every second; if the demo was ended, start it anew.");
    cards.show(last);
  }
}

function lost(message) {
  text(byId("lost"), message);
  byId("lost").hidden = false;
}

function connection(state, label) {
  document.body.dataset.connection = state;
  byId("connection").dataset.state = state;
  text(byId("connection"), label);
}

function frame() {
  if (last?.live) {
    headline.frame();
    cards.frame();
    faults.frame();
    timeline.frame();
  }
  setTimeout(() => requestAnimationFrame(frame), calm.matches ? 500 : timeline.pace);
}

cards.enableAdding();
faults.enableShowingAll();
cards.enableLeaderActions();
connect({ onState, onLost });
requestAnimationFrame(frame);

// The page of the demo: one state, four times a second, and a view for each part of it.

import * as cards from "./cards.js";
import { synchronize, now } from "./clock.js";
import { colourOf } from "./colours.js";
import * as counter from "./counter.js";
import { announce, byId, calm, text } from "./dom.js";
import * as faults from "./faults.js";
import * as fires from "./fires.js";
import { duration, time } from "./format.js";
import * as headline from "./headline.js";
import * as leader from "./leader.js";
import { asReported } from "./lease.js";
import * as store from "./store.js";
import { connect } from "./stream.js";
import * as summary from "./summary.js";
import { Timeline } from "./timeline.js";

/** A message that is later than this is skipped: the page was suspended, and a newer message follows. */
const LATE = 2000;

const timeline = new Timeline();
let last = null;

function onState(message) {
  synchronize(message.now);
  if (last && message.run !== last.run) {
    location.reload();
    return;
  }
  if (message.now < now() - LATE) {
    return;
  }
  message.nodes.forEach((node) => colourOf(node.name));
  const returned = last && !last.live;
  last = { ...message, live: true, lease: duration(message.lease), trust: duration(message.trust),
    silence: duration(message.silence), terms: asReported(message.terms, message.nodes) };
  connection("live", "Live");
  byId("lost").hidden = true;
  if (returned) {
    announce("The demo answers again.");
  }
  show();
}

function show() {
  headline.show(last);
  leader.show(last);
  store.show(last);
  counter.show(last);
  fires.show(last);
  cards.show(last);
  timeline.show(last);
  faults.show(last, (fault) => timeline.seek(fault));
  summary.show(last);
}

function onLost() {
  connection("lost", "Connection lost");
  if (last === null) {
    lost("The demo does not answer. Trying again every second.");
  }
  else if (last.live) {
    last.live = false;
    lost("The connection to the demo is lost. The figures are as of " + time(last.now)
        + ". Trying again every second; if the demo was stopped, start it again.");
    leader.show(last);
    cards.show(last);
    timeline.frame();
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
  setTimeout(() => requestAnimationFrame(frame), calm.matches ? 500 : timeline.pace);
  if (last?.live) {
    headline.frame();
    cards.frame();
    faults.frame();
    timeline.frame();
  }
}

cards.enableAdding();
faults.enableShowingAll(show);
leader.enable();
connect({ onState, onLost });
requestAnimationFrame(frame);

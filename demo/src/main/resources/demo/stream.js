// The state of the demo, four times a second. A stream that breaks or is silent is opened again.

const SILENCE = 2500;
const RETRY = 1000;

export function connect({ onState, onLost }) {
  let source = null;
  let watchdog = null;
  let retry = null;
  let receivedAt = 0;

  function open() {
    close();
    source = new EventSource("api/stream");
    source.onmessage = (event) => {
      watch();
      onState(JSON.parse(event.data));
    };
    source.onerror = again;
    watch();
  }

  function close() {
    clearTimeout(watchdog);
    clearTimeout(retry);
    retry = null;
    source?.close();
  }

  function watch() {
    clearTimeout(watchdog);
    receivedAt = Date.now();
    watchdog = setTimeout(() => {
      // A timer that is late itself shows that this page was suspended, not that the demo is silent
      const asleep = document.hidden || Date.now() - receivedAt > 2 * SILENCE;
      (asleep ? open : again)();
    }, SILENCE);
  }

  function again() {
    close();
    onLost();
    retry = setTimeout(open, RETRY);
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && retry === null && Date.now() - receivedAt > SILENCE) {
      open();
    }
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => {
    if (event.persisted) {
      open();
    }
  });
  open();
}

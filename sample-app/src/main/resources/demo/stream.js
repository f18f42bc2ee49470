// The state of the demo, four times a second. A stream that breaks, or is silent, is opened anew.

const SILENCE = 2500;
const RETRY = 1000;

export function connect({ onState, onLost }) {
  let source = null;
  let watchdog = null;
  let retry = null;

  function open() {
    clearTimeout(retry);
    retry = null;
    source = new EventSource("api/stream");
    source.onmessage = (event) => {
      watch();
      onState(JSON.parse(event.data));
    };
    source.onerror = again;
    watch();
  }

  function watch() {
    clearTimeout(watchdog);
    watchdog = setTimeout(again, SILENCE);
  }

  function again() {
    clearTimeout(watchdog);
    source.close();
    onLost();
    retry ??= setTimeout(open, RETRY);
  }

  addEventListener("pagehide", () => {
    clearTimeout(watchdog);
    clearTimeout(retry);
    source.close();
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) {
      open();
    }
  });
  open();
}

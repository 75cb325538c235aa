// Browsers start no Worker for a page that was opened as a file. The search runs in one, so there it gets a hidden frame
// instead, which answers to the same calls. Served by http nothing changes. A worker of a blob starts here too: the machine's is one.
if (location.protocol === "file:") {
  const Own = window.Worker;
  window.Worker = class extends EventTarget {
    constructor(url) {
      if (String(url).startsWith("blob:")) return new Own(url);
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      // Firefox puts a new document into the frame some time after it has been appended; Chromium has it at once.
      const there = new Promise((done) => frame.addEventListener("load", done, {once: true}));
      document.body.appendChild(frame);
      const deliver = (to, data) => setTimeout(() => to.dispatchEvent(new MessageEvent("message", { data })));
      const load = (source) =>
        new Promise((done) => {
          const script = frame.contentDocument.createElement("script");
          script.src = source;
          script.onload = done;
          frame.contentDocument.body.appendChild(script);
        });
      const ready = there.then(() => {
        frame.contentWindow.postMessage = (data) => deliver(this, data);
        frame.contentWindow.importScripts = (...sources) => sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
        return load(new URL(url, location.href).href);
      });
      this.postMessage = (data) => ready.then(() => deliver(frame.contentWindow, data));
      this.terminate = () => frame.remove();
    }
  };
}

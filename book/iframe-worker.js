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
      document.body.appendChild(frame);
      const child = frame.contentWindow, inside = frame.contentDocument;
      const deliver = (to, data) => setTimeout(() => to.dispatchEvent(new MessageEvent("message", { data })));
      const load = (source) =>
        new Promise((done) => {
          const script = inside.createElement("script");
          script.src = source;
          script.onload = done;
          inside.body.appendChild(script);
        });
      child.postMessage = (data) => deliver(this, data);
      child.importScripts = (...sources) => sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      const ready = load(new URL(url, location.href).href);
      this.postMessage = (data) => ready.then(() => deliver(child, data));
      this.terminate = () => frame.remove();
    }
  };
}

// The machine for pages and for Node: one instance answers requests (web/machine/request.h), in a worker where there is one.
"use strict";
(function (root) {
  // An instance of the module. It has no files, no clock and no environment: what it asks of the host is answered with nothing.
  function instanceOf(module) {
    let memory = null;
    const words = () => new Uint32Array(memory.buffer);
    const none = 0, badFile = 8, noSystem = 52;
    const known = {
      environ_sizes_get: (count, bytes) => ((words()[count >> 2] = 0), (words()[bytes >> 2] = 0), none),
      environ_get: () => none,
      args_sizes_get: (count, bytes) => ((words()[count >> 2] = 0), (words()[bytes >> 2] = 0), none),
      args_get: () => none,
      clock_time_get: (id, precision, to) => (new BigUint64Array(memory.buffer, to, 1).fill(0n), none),
      fd_prestat_get: () => badFile,
      fd_write: (file, vectors, count, written) => {
        let bytes = 0;
        for (let i = 0; i < count; ++i) bytes += words()[(vectors >> 2) + 2 * i + 1];
        words()[written >> 2] = bytes;
        return none;
      },
      proc_exit: (code) => {
        throw new Error(`the machine has ended with ${code}`);
      },
    };
    const wasi = {};
    for (const i of WebAssembly.Module.imports(module)) wasi[i.name] = known[i.name] || (() => noSystem);
    const {exports} = new WebAssembly.Instance(module, {wasi_snapshot_preview1: wasi});
    memory = exports.memory;
    if (exports._initialize) exports._initialize();
    return {
      answer(request) {
        const bytes = new TextEncoder().encode(JSON.stringify(request));
        const at = exports.gen5_room(bytes.length);
        new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
        const size = exports.gen5_answer(at, bytes.length);
        const text = new Uint8Array(memory.buffer, exports.gen5_text() >>> 0, size >>> 0);
        return JSON.parse(new TextDecoder().decode(text));
      },
      bytes: () => memory.buffer.byteLength,
    };
  }

  // An instance that has trapped is no good any more, and memory that it has grown it never gives back: then a new one.
  function Answering(module) {
    let instance = null;
    const mostKept = 512 << 20;
    this.answer = (request) => {
      try {
        if (!instance || instance.bytes() > mostKept) instance = instanceOf(module);
        return instance.answer(request);
      } catch (e) {
        instance = null;
        if (e instanceof RangeError) return {status: "invalid", message: "this is nested deeper than the page's stack"};
        return {status: "invalid", message: `the page's machine has failed: ${e.message || e}`};
      }
    };
  }

  // gen5_module.js holds the module, packed, so that pages opened as files have it too. As a stream: it is compiled while it is unpacked.
  function unpacked(text) {
    const letters = atob(text), packed = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; ++i) packed[i] = letters.charCodeAt(i);
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")), {headers: {"Content-Type": "application/wasm"}});
  }

  // The worker: it compiles the packed module and gives it back for the workers after it, or gets it compiled.
  function work(instanceOf, Answering, unpacked) {
    let answering = null;
    self.onmessage = ({data}) => {
      if (data.packed) {
        answering = WebAssembly.compileStreaming(unpacked(data.packed)).then((module) => (self.postMessage({module}), new Answering(module)));
      } else if (data.module) answering = Promise.resolve(new Answering(data.module));
      else answering.then((a) => a.answer(data.request), (e) => ({status: "invalid", message: `the machine does not load: ${e.message}`})).then((answer) => self.postMessage({id: data.id, answer}));
    };
  }

  // In a page: ask() is answered by the worker; stop() ends it, whatever it does, and what was asked is answered "stopped".
  class Machine {
    constructor(packed) {
      this.waiting = new Map();
      this.next = 1;
      this.ready = packed.then((text) => ((this.packed = text), this.start()));
    }
    start() {
      const source = `"use strict"; const instanceOf = ${instanceOf}; const Answering = ${Answering}; (${work})(instanceOf, Answering, ${unpacked});`;
      const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
      this.worker = new Worker(url);
      URL.revokeObjectURL(url);
      this.worker.onmessage = ({data}) => {
        if (data.module) {
          this.module = data.module;
          this.packed = null;
          return;
        }
        const done = this.waiting.get(data.id);
        this.waiting.delete(data.id);
        if (done) done(data.answer);
      };
      this.worker.postMessage(this.module ? {module: this.module} : {packed: this.packed});
    }
    async ask(request) {
      await this.ready;
      if (!this.worker) this.start();
      return new Promise((done) => {
        const id = this.next++;
        this.waiting.set(id, done);
        this.worker.postMessage({id, request});
      });
    }
    stop() {
      if (this.worker) this.worker.terminate();
      this.worker = null;
      for (const done of this.waiting.values()) done({status: "halted", message: "stopped"});
      this.waiting.clear();
    }
  }

  const missing = () =>
    typeof WebAssembly !== "object" || typeof Worker !== "function" || typeof DecompressionStream !== "function"
      ? "This browser has no WebAssembly, or keeps it from this page: kernels cannot run here. The text can be read all the same."
      : "";
  let one = null;
  function machine(folder) {
    if (one) return one;
    one = new Machine(
      new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = folder + "gen5_module.js";
        script.onload = () => (done(root.gen5Module), delete root.gen5Module);
        script.onerror = () => failed(new Error("gen5_module.js is missing"));
        document.head.append(script);
      }),
    );
    return one;
  }

  root.gen5 = {Answering, machine, missing, unpacked};
  if (typeof module !== "undefined") module.exports = root.gen5;
})(globalThis);

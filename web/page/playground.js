// An editor with a machine behind it: gen5Playground(element, {folder, text, examples}). What PTX and machine say is shown as text,
// never as HTML. An example is {title, text, group, request}: with a request it is a recorded launch (GEN5_CAPTURE), else lines of the text
// say how it is launched. `watch`: {loaded(example, shown), line(number), answered(answer, place, shown), changed(text)} of who shows more beside
// it. With `judge`, a function of the text and of what asks the machine, the button judges instead of running (practice.js).
"use strict";
(function (root) {
  const number = new Intl.NumberFormat("en");

  function element(tag, attributes = {}, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) e.setAttribute(name, value === true ? "" : value);
    }
    e.append(...children.filter((c) => c !== null && c !== undefined));
    return e;
  }

  // ---- The editor: a text field over its own picture, which has the colours, the numbers and the marks

  const TOKENS = /(\/\/.*$)|(%[\w$.]+)|(\.[a-zA-Z_]\w*)|("[^"]*"?)|\b(0[xX][0-9a-fA-F]+|0[fFdD][0-9a-fA-F]+|\d+)\b|([A-Za-z_$][\w$]*(?:[.:]+[\w:]+)*)/g;
  function coloured(line) {
    const out = [];
    let at = 0;
    for (const m of line.matchAll(TOKENS)) {
      if (m.index > at) out.push(line.slice(at, m.index));
      const kind = m[1] ? (line.trimStart().startsWith("//!") ? "launch" : "comment") : m[2] ? "register" : m[3] ? "directive" : m[4] ? "text" : m[5] ? "number" : m[6].includes(".") ? "opcode" : "";
      out.push(kind ? element("span", {class: `gen5-${kind}`}, m[0]) : m[0]);
      at = m.index + m[0].length;
    }
    out.push(line.slice(at) || " ");
    return out;
  }

  // What may stand where the cursor is: an opcode, or a modifier behind one. `forms`: {opcode: [modifiers]}. {"typed": what is there of it, "words"}.
  function completions(before, forms) {
    const m = /^\s*(?:[\w$]+:\s*)?(?:@!?%?[\w$]+\s+)?([a-z][\w.:]*)$/.exec(before);
    if (!m) return {typed: "", words: []};
    const text = m[1], opcode = Object.keys(forms).filter((o) => text.startsWith(o + ".")).sort((a, b) => b.length - a.length)[0];
    const used = opcode ? text.slice(opcode.length + 1).split(".") : [], typed = opcode ? used.pop() : text;
    const opcodes = Object.keys(forms).filter((o) => o.startsWith(text)).map((o) => o.slice(text.length - typed.length));
    const words = [...new Set([...(opcode ? forms[opcode].filter((w) => w.startsWith(typed) && !used.includes(w)) : []), ...opcodes])];
    return {typed, words: words.length === 1 && words[0] === typed ? [] : words};
  }

  class Editor {
    // forms(): a promise of what completions() goes by.
    constructor(label, changed, forms) {
      this.picture = element("div", {class: "gen5-picture", "aria-hidden": "true"});
      this.area = element("textarea", {class: "gen5-area", spellcheck: "false", autocapitalize: "off", autocomplete: "off", autocorrect: "off", wrap: "off", "aria-label": label});
      this.area.addEventListener("input", () => (this.draw(), this.offer(forms), changed()));
      this.area.addEventListener("keydown", (e) => this.choose(e));
      for (const event of ["blur", "click"]) this.area.addEventListener(event, () => this.offered([], ""));
      this.list = element("ul", {class: "gen5-offers", role: "listbox", id: `gen5-offers-${++Editor.count}`, "aria-label": "May stand here", hidden: true});
      this.area.setAttribute("aria-autocomplete", "list");
      this.area.setAttribute("aria-controls", this.list.id);
      this.box = element("div", {class: "gen5-editor"}, this.picture, this.area, this.list);
      this.marks = new Map();
      this.lines = [];
    }
    static count = 0;
    async offer(forms) {
      const at = this.area.selectionStart, known = await forms();
      if (at !== this.area.selectionStart || at !== this.area.selectionEnd || document.activeElement !== this.area) return;
      const begin = this.text.lastIndexOf("\n", at - 1) + 1, before = this.text.slice(begin, at);
      const {typed, words} = /^[\w.:]/.test(this.text.slice(at)) ? {typed: "", words: []} : completions(before, known);
      this.offered(words.slice(0, 12), typed);
      this.list.style.left = `calc(52px + ${before.length - typed.length}ch)`;
      this.list.style.top = `calc(8px + ${this.line()} * var(--gen5-line))`;
      if (!this.list.hidden) this.list.scrollIntoView({block: "nearest"});
    }
    offered(words, typed) {
      this.typed = typed;
      this.list.hidden = !words.length;
      this.list.replaceChildren(...words.map((w, i) => element("li", {role: "option", id: `${this.list.id}-${i}`, "aria-selected": "false", onmousedown: (e) => (e.preventDefault(), this.accept(w))}, w)));
      this.area.removeAttribute("aria-activedescendant");
    }
    accept(word) {
      const at = this.area.selectionStart;
      this.area.setRangeText(word.slice(this.typed.length), at, at, "end");
      this.offered([], "");
      this.area.dispatchEvent(new Event("input"));
    }
    // Arrows choose, Tab takes the chosen one or the first, Enter the chosen one, Escape leaves all.
    choose(e) {
      const options = [...this.list.children], now = options.findIndex((o) => o.getAttribute("aria-selected") === "true");
      if (this.list.hidden || e.ctrlKey || e.metaKey || e.shiftKey) return;
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        const next = (now + (e.key === "ArrowDown" ? 1 : options.length - 1 + (now < 0))) % options.length;
        options.forEach((o, i) => o.setAttribute("aria-selected", String(i === next)));
        this.area.setAttribute("aria-activedescendant", options[next].id);
      } else if (e.key === "Tab" || (e.key === "Enter" && now >= 0)) this.accept(options[Math.max(now, 0)].textContent);
      else if (e.key === "Escape") this.offered([], "");
      else return;
      e.preventDefault();
      e.stopImmediatePropagation();
    }
    get text() {
      return this.area.value;
    }
    set text(text) {
      this.area.value = text;
      this.marks.clear();
      this.draw();
    }
    // Only lines that have changed are made anew.
    draw() {
      const lines = this.text.split("\n");
      while (this.picture.children.length > lines.length) this.picture.lastChild.remove();
      lines.forEach((line, i) => {
        const mark = this.marks.get(i + 1) || "", known = this.lines[i], row = this.picture.children[i];
        if (row && known && known.line === line && known.mark === mark) return;
        const made = element("div", {class: mark ? `gen5-line gen5-${mark}` : "gen5-line", "data-line": i + 1}, ...coloured(line));
        if (row) row.replaceWith(made);
        else this.picture.append(made);
        this.lines[i] = {line, mark};
      });
      this.lines.length = lines.length;
      const widest = lines.reduce((most, line) => Math.max(most, line.length), 0);
      this.box.style.setProperty("--gen5-columns", widest + 2);
      this.area.rows = lines.length + 1;
    }
    mark(marks) {
      this.marks = marks;
      this.draw();
    }
    // The number of the line that the cursor is in.
    line() {
      return this.text.slice(0, this.area.selectionStart).split("\n").length;
    }
    // The line that the cursor is in, without its comment, label and end.
    current() {
      const before = this.text.lastIndexOf("\n", this.area.selectionStart - 1) + 1, end = this.text.indexOf("\n", this.area.selectionStart);
      return this.text.slice(before, end < 0 ? undefined : end).replace(/\/\/.*$/, "").replace(/^\s*[\w$]+:(?!:)/, "").trim().replace(/;$/, "");
    }
    // Brings a line into the editor's own view; the page stays where it is.
    show(line) {
      const row = this.picture.children[line - 1];
      if (row) this.box.scrollTop = Math.max(0, row.offsetTop - this.box.clientHeight / 3);
    }
    go(line, column = 1) {
      const before = this.text.split("\n").slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
      const end = this.text.indexOf("\n", before);
      this.area.focus({preventScroll: true});
      this.area.setSelectionRange(before + column - 1, end < 0 ? this.text.length : end);
      const row = this.picture.children[line - 1];
      if (row) row.scrollIntoView({block: "nearest"});
    }
  }

  // ---- What a run has given

  const placeText = (place) => {
    const parts = [];
    if (place.cta) parts.push(`CTA (${place.cta.join(", ")})`);
    if (place.warp !== undefined) parts.push(`warp ${place.warp}`);
    if (place.thread !== undefined) parts.push(`thread ${place.thread}`);
    if (place.operation) parts.push(`its ${place.operation}`);
    if (place.cycle !== undefined) parts.push(`cycle ${number.format(place.cycle)}`);
    return parts.join(", ");
  };
  function table(caption, head, rows) {
    return element("div", {class: "gen5-scroll", tabindex: "0", role: "region", "aria-label": caption},
      element("table", {class: "gen5-table"}, element("caption", {}, caption),
        element("thead", {}, element("tr", {}, ...head.map((h) => element("th", {scope: "col"}, String(h))))),
        element("tbody", {}, ...rows.map((r) => element("tr", {}, ...r.map((c) => (c instanceof Node ? element("td", {}, c) : element("td", {}, String(c)))))))));
  }
  const shown = (v) => (typeof v === "number" && !Number.isInteger(v) ? String(Math.fround(v) === v ? Number(v.toPrecision(7)) : Number(v.toPrecision(9))) : String(v));

  // What has changed is marked, and the numbers before the run are there to see. `wrong`: what elements should be, by their places.
  function bufferView(b, id, wrong = new Map()) {
    const side = Math.round(Math.sqrt(b.count)), columns = b.count > 64 && side * side === b.count && side <= 64 ? side : 16;
    const most = Math.min(b.values.length, 256), left = b.count - most, before = new Map(b.before);
    const place = element("div"), toggle = element("input", {type: "checkbox", id, onchange: draw});
    const changed = `${before.size ? number.format(before.size) : "none"} of ${b.count > b.values.length ? `the first ${number.format(b.values.length)}` : "them"} changed`;
    function cell(at) {
      const now = b.values[at], was = before.has(at) ? before.get(at) : now;
      if (toggle.checked) return shown(was);
      if (wrong.has(at)) return element("strong", {class: "gen5-wrong"}, `${shown(now)} ≠ ${shown(wrong.get(at))}`);
      return before.has(at) ? element("b", {class: "gen5-changed", title: `was ${shown(was)}`}, shown(now)) : shown(now);
    }
    function draw() {
      const rows = [];
      for (let i = 0; i < most; i += columns) rows.push([i, ...Array.from({length: Math.min(columns, most - i)}, (_, k) => cell(i + k))]);
      place.replaceChildren(table(`${b.name}: ${b.type}[${number.format(b.count)}]${left > 0 ? `, the first ${most}` : ""}${toggle.checked ? ", before the run" : `; ${changed}`}`, ["from", ...Array(Math.min(columns, b.count)).keys()], rows));
    }
    draw();
    return element("div", {class: "gen5-buffer"}, place, before.size ? element("label", {for: id}, toggle, ` ${b.name} before the run`) : null);
  }

  // What the first warp has written, in order: a register a row.
  const bits = new DataView(new ArrayBuffer(4));
  function registerValue(type, v) {
    if (typeof v !== "number") return v;
    if (type === "f32") return (bits.setUint32(0, v), shown(bits.getFloat32(0)));
    if (type === "s32") return String(v | 0);
    return v >= 2 ** 32 ? `0x${v.toString(16)}` : String(v);
  }
  function writtenView(rows, line) {
    const out = element("details", {class: "gen5-written"}, element("summary", {}, `What the first warp wrote into registers${rows.length >= 400 ? ", the first 400" : `: ${rows.length}`}`));
    out.addEventListener("toggle", () => {
      if (out.children.length > 1) return;
      out.append(table("Registers, in the order in which they were written", ["line", "cycle", "register", "type", "in all lanes", ...Array(32).keys()], rows.map((r) => {
        const lanes = Array.isArray(r.values) ? r.values.map((v, lane) => ((r.lanes >>> lane) & 1 ? registerValue(r.type, v) : "")) : [];
        return [line(r.line, 1), number.format(r.cycle), r.name, r.type, Array.isArray(r.values) ? "" : registerValue(r.type, r.values), ...lanes];
      })));
    });
    return out;
  }

  const hexRows = (bytes, begin) => {
    const rows = [];
    for (let i = 0; i < bytes.length; i += 64) {
      if (i && /^0*$/.test(bytes.slice(i, i + 64)) && rows.length > 4) continue;
      rows.push([`0x${(begin + i / 2).toString(16)}`, bytes.slice(i, i + 64).replace(/(.{8})/g, "$1 ").trim()]);
    }
    return rows;
  };

  // What a recorded launch has written: the bytes from the first that changed on, as the reader likes to see them.
  const VIEWS = {
    f32: [4, (d, at) => d.getFloat32(at, true)],
    "u32, hexadecimal": [4, (d, at) => d.getUint32(at, true).toString(16).padStart(8, "0")],
    u32: [4, (d, at) => d.getUint32(at, true)],
    bf16: [2, (d, at) => new Float32Array(new Uint32Array([d.getUint16(at, true) << 16]).buffer)[0]],
    u64: [8, (d, at) => d.getBigUint64(at, true)],
    bytes: [1, (d, at) => d.getUint8(at)],
  };
  // Floats of usual size, or whole numbers?
  function likely(data) {
    let floats = 0, count = 0;
    for (let at = 0; at + 4 <= data.byteLength && count < 64; at += 4) {
      const word = data.getUint32(at, true), exponent = (word >>> 23) & 255;
      if (!word) continue;
      ++count;
      floats += exponent > 96 && exponent < 160;
    }
    return count && floats > count / 2 ? "f32" : "u32";
  }
  function regionView(r, id) {
    const data = new DataView(Uint8Array.from(atob(r.bytes), (c) => c.charCodeAt(0)).buffer);
    const place = element("div");
    const draw = (kind) => {
      const [size, read] = VIEWS[kind], columns = size === 8 ? 8 : 16, rows = [];
      for (let at = 0; at + size <= Math.min(data.byteLength, size * 256); at += size) {
        if (at % (size * columns) === 0) rows.push([`+${number.format(r.begin + at)}`]);
        rows.at(-1).push(shown(read(data, at)));
      }
      place.replaceChildren(table(`${r.name}: ${number.format(r.changed)} of ${number.format(r.size)} bytes have changed`, ["byte", ...Array(Math.min(columns, Math.floor(data.byteLength / size))).keys()], rows));
    };
    const select = element("select", {id, onchange: () => draw(select.value)}, ...Object.keys(VIEWS).map((v) => element("option", {value: v}, v)));
    select.value = likely(data);
    draw(select.value);
    return element("div", {class: "gen5-region"}, element("label", {for: id}, "As ", select), place);
  }

  function seenView(seen, line) {
    const out = element("details", {class: "gen5-seen", open: true}, element("summary", {}, "Where everything stood"));
    out.append(table(seen.count === 1 ? "One warp has not ended" : `${seen.count} warps have not ended`, ["CTA", "warp", "lanes", "line", "is at", "waits for"],
      (seen.warps || []).slice(0, 32).map((w) => [w.name.cta.join(", "), w.name.warp, (w.lanes >>> 0).toString(16).padStart(8, "0"), w.place ? line(w.place.ptx_line) : "", w.place ? w.place.ptx : "", w.waits_for || ""])));
    if (seen.barriers && seen.barriers.length)
      out.append(table("Barriers", ["CTA", "at", "phase", "arrivals missing", "of", "bytes missing"],
        seen.barriers.map((b) => [b.cta.join(", "), b.offset !== undefined ? b.name || `0x${b.offset.toString(16)}` : `barrier ${b.barrier}`, b.phase ?? "", b.pending ?? b.expected - b.arrived, b.expected, b.bytes ?? ""])));
    if (seen.operations && seen.operations.length)
      out.append(table("On their way", ["what", "bytes", "issued at cycle", "by line"], seen.operations.map((o) => [o.kind, o.bytes, o.issued, o.by ? line(o.by.ptx_line) : ""])));
    if (seen.registers && seen.registers.length)
      out.append(element("details", {}, element("summary", {}, "Registers of the first of these warps"),
        table("Registers, lane by lane", ["name", "type", ...Array(32).keys()], seen.registers.map((r) => [r.name, r.type, ...r.values]))));
    if (seen.shared && seen.shared.bytes)
      out.append(element("details", {}, element("summary", {}, "Shared memory of its CTA"), table("Shared memory", ["offset", "bytes"], hexRows(seen.shared.bytes, seen.shared.begin))));
    if (seen.tmem && seen.tmem.rows)
      out.append(element("details", {}, element("summary", {}, `Tensor Memory of SM ${seen.tmem.sm}, its first 32 lanes and 64 columns`),
        table("Tensor Memory, as f32; · was never written", ["lane", ...Array(seen.tmem.rows[0].length).keys()],
          seen.tmem.rows.map((r, i) => [seen.tmem.lane + i, ...r.map((c) => (c === null ? "·" : shown(new Float32Array(new Uint32Array([c]).buffer)[0])))]))));
    return out;
  }

  // ---- The page's address holds all of it

  const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
  async function packed(state) {
    const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
    let text = "";
    for (const b of bytes) text += String.fromCharCode(b);
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
  }

  // Options of a menu, under the names of their groups.
  function grouped(examples) {
    const out = [];
    let group = null;
    examples.forEach((e, i) => {
      if (e.group && (!group || group.label !== e.group)) out.push((group = element("optgroup", {label: e.group})));
      (e.group ? group : {append: (o) => out.push(o)}).append(element("option", {value: i}, e.title));
    });
    return out;
  }

  let count = 0;
  root.gen5Playground = function (host, {folder, text, examples = [], share = false, menuWord = "Example", watch = {}, judge = null}) {
    const why = root.gen5.missing();
    if (why) {
      host.append(element("p", {class: "gen5-none", role: "note"}, why));
      if (text) host.append(element("pre", {}, text));
      return null;
    }
    const id = `gen5-${++count}`;
    let machine = null, running = false, timer = 0, typed = 0, recorded = null, forms = null;
    const theMachine = () => (machine = machine || root.gen5.machine(folder));

    const editor = new Editor("PTX", () => {
      clearTimeout(timer);
      timer = setTimeout(look, 500);
      if (watch.changed) watch.changed(editor.text);
    }, () => (forms = forms || theMachine().ask({do: "forms"}).then((said) => said.opcodes || {}, () => ({}))));
    const choice = (label, name, values) => {
      const select = element("select", {id: `${id}-${name}`}, ...values.map(([value, words]) => element("option", {value}, words)));
      return [element("label", {for: `${id}-${name}`}, label, " ", select), select];
    };
    const [machineLabel, machineSelect] = choice("Machine", "machine", [["b200", "B200"], ["h200", "H200"]]);
    const [orderLabel, orderSelect] = choice("Order", "order", [["timed", "timed"], ["late", "late"], ["seeded", "seeded"]]);
    const [checkLabel, checkSelect] = choice("Checks", "check", [["quick", "quick"], ["races", "races"]]);
    const seed = element("input", {id: `${id}-seed`, type: "number", min: 0, max: 4294967295, value: 1, class: "gen5-small"});
    const stopAt = element("input", {id: `${id}-stop`, type: "number", min: 0, value: 0, class: "gen5-small"});
    const run = element("button", {type: "button", class: "gen5-run", onclick: () => go()}, judge ? "Judge" : "Run");
    const stop = element("button", {type: "button", disabled: true, onclick: () => theMachine().stop()}, "Stop");
    const help = element("button", {type: "button", onclick: explain}, "Explain line");
    const explained = element("pre", {class: "gen5-explained", tabindex: "0", hidden: true, "aria-label": "How the instruction reads"});
    const about = element("p", {class: "gen5-about"}), status = element("p", {class: "gen5-status", role: "status"});
    const problems = element("ul", {class: "gen5-problems"});
    const results = element("div", {class: "gen5-results"});
    const menu = examples.length ? element("select", {id: `${id}-example`, class: "gen5-menu", onchange: () => (loadExample(examples[menu.value]), look())}, ...grouped(examples)) : null;
    const link = share ? element("button", {type: "button", onclick: shareIt}, "Share") : null;

    host.append(element("div", {class: "gen5-play"},
      element("div", {class: "gen5-bar"}, menu && element("label", {for: `${id}-example`}, `${menuWord} `, menu),
        ...(judge ? [] : [machineLabel, orderLabel, element("label", {for: `${id}-seed`}, "Seed ", seed), checkLabel, element("label", {for: `${id}-stop`, title: "0: run to the end"}, "Stop at cycle ", stopAt)]), run, stop, help, link),
      about, editor.box, explained, status, problems, results));
    if (watch.line) for (const event of ["click", "keyup"]) editor.area.addEventListener(event, () => watch.line(editor.line()));
    editor.area.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) (e.preventDefault(), go());
      if (e.key === "Escape" && running) theMachine().stop();
    });

    function loadExample(example) {
      recorded = example.request || null;
      load(example.text, recorded);
      if (watch.loaded) watch.loaded(example, shownHere);
    }
    function load(text, launch = null) {
      const read = launch ? {request: launch, says: ""} : root.gen5Launch.read(text), request = read.request;
      about.textContent = read.says;
      editor.text = text;
      machineSelect.value = request.machine || "b200";
      orderSelect.value = request.order || "timed";
      checkSelect.value = request.check || "quick";
      seed.value = request.seed ?? 1;
      stopAt.value = request.stop_at ?? 0;
      results.replaceChildren();
      problems.replaceChildren();
      status.textContent = "";
    }
    const lineButton = (line, column) => (line > 0 ? element("button", {type: "button", class: "gen5-jump", onclick: () => editor.go(line, column)}, `line ${line}`) : "");
    function problem(kind, head, line, column, more) {
      problems.append(element("li", {class: `gen5-problem gen5-is-${kind}`}, element("strong", {}, head), " ", lineButton(line, column), ...more.filter((m) => m).map((m) => element("div", {}, m))));
    }
    function showMessages(messages) {
      const marks = new Map();
      problems.replaceChildren();
      for (const m of messages) {
        marks.set(m.line, "bad");
        problem("error", "error", m.line, m.column, [m.text, m.help]);
      }
      editor.mark(marks);
    }
    // While one types, wrong forms say what is wrong.
    async function look() {
      const mine = ++typed;
      if (running) return;
      const read = recorded ? {messages: []} : root.gen5Launch.read(editor.text);
      const said = await theMachine().ask({do: "check", ptx: editor.text});
      if (mine !== typed || running || said.status) return;
      showMessages([...read.messages, ...said.messages]);
    }
    // As gen5 explain does: registers are typed by their names.
    async function explain() {
      const line = editor.current();
      explained.hidden = false;
      if (!/^(@!?%?\w+\s+)?[a-z][\w.:]*/.test(line)) {
        explained.textContent = "Put the cursor into the line of an instruction.";
        return;
      }
      const target = (/^\s*\.target\s+(\w+)/m.exec(editor.text) || [])[1] || "sm_100a", version = (/^\s*\.version\s+([\d.]+)/m.exec(editor.text) || [])[1] || "9.0";
      const said = await theMachine().ask({do: "explain", instruction: line, target, version});
      explained.textContent = said.text || said.message;
    }
    async function shareIt() {
      const state = {text: editor.text, machine: machineSelect.value, order: orderSelect.value, check: checkSelect.value, seed: Number(seed.value), stop_at: Number(stopAt.value)};
      history.replaceState(null, "", "#" + (await packed(state)));
      let copied = true;
      try {
        await navigator.clipboard.writeText(location.href);
      } catch {
        copied = false;
      }
      status.textContent = copied ? "The address of this page holds all of it, and has been copied." : "The address of this page holds all of it: copy it.";
    }
    async function go() {
      if (running) return;
      clearTimeout(timer);  // else it would take the diagnoses away
      const {request, messages} = recorded ? {request: recorded, messages: []} : root.gen5Launch.read(editor.text);
      results.replaceChildren();
      showMessages(messages);
      if (messages.length) return;
      running = true;
      ++typed;
      run.disabled = true;
      stop.disabled = false;
      status.textContent = "Running …";
      const begin = performance.now();
      let answer;
      try {
        if (judge) answer = await judge(editor.text, (asked) => theMachine().ask(asked), (words) => (status.textContent = words));
        else answer = await theMachine().ask({...request, ptx: editor.text, do: "run", timeline: true, registers: true, machine: machineSelect.value, order: orderSelect.value, check: checkSelect.value, seed: Number(seed.value) || 0, stop_at: Number(stopAt.value) || 0});
      } catch (e) {
        answer = {status: "invalid", message: `The machine does not load: ${e.message}`};
      }
      running = false;
      run.disabled = false;
      stop.disabled = true;
      show(answer, performance.now() - begin);
    }
    const ends = {done: "Done", stopped: "Stopped at that cycle", fault: "Stopped by a fault", refused: "Refused", invalid: "Not run", halted: "Stopped"};
    function show(a, ms) {
      const facts = [ends[a.status] || a.status];
      if (a.cycles !== undefined) facts.push(`${number.format(a.cycles)} cycles`);
      if (a.instructions) facts.push(`${number.format(a.instructions)} warp instructions`);
      if (a.registers) facts.push(`${a.registers} registers a thread`);
      if (a.diagnoses && a.diagnoses.length) facts.push(`${a.diagnoses.length} diagnos${a.diagnoses.length === 1 ? "is" : "es"}`);
      status.textContent = a.words || facts.join(", ") + ` (${number.format(Math.round(ms))} ms here).`;
      if (a.messages) showMessages(a.messages);
      else if (a.message && !(a.diagnoses && a.diagnoses.length)) problem("error", a.status, 0, 0, [a.message]);
      const marks = new Map(editor.marks), most = judge ? 3 : Infinity;  // the first ones; the rest mostly follow from them
      for (const d of (a.diagnoses || []).slice(0, most)) {
        const line = d.place.ptxLine || 0;
        if (line && marks.get(line) !== "bad") marks.set(line, d.severity === "error" ? "bad" : "doubt");
        for (const o of d.others) if (o.place.ptxLine && !marks.has(o.place.ptxLine)) marks.set(o.place.ptxLine, "other");
        problem(d.severity, `${d.severity} [${d.code}]`, line, 1, [d.message, d.label ? `here: ${d.label}` : "", placeText(d.place), d.help && !judge ? `help: ${d.help}` : "", d.rule ? `rule: ${d.rule}` : "",
          ...d.others.map((o) => element("span", {}, lineButton(o.place.ptxLine || 0, 1), ` ${o.label}`, placeText(o.place) ? ` (${placeText(o.place)})` : ""))]);
      }
      if ((a.diagnoses || []).length > most) problems.append(element("li", {class: "gen5-problem"}, `and ${a.diagnoses.length - most} more, which may follow from these`));
      editor.mark(marks);
      const bad = [...marks].filter(([, mark]) => mark === "bad").map(([line]) => line);
      if (marks.size) editor.show(Math.min(...(bad.length ? bad : marks.keys())));
      if (a.output) results.append(element("h4", {}, "printf"), element("pre", {tabindex: "0"}, a.output));
      const tables = (a.buffers || []).map((b, i) => bufferView(b, `${id}-buffer-${i}`, b.wrong));
      if (judge) results.append(...tables);
      if (root.gen5Scrub && a.moments) root.gen5Scrub(results, a, shownHere);
      if (!judge) results.append(...tables);
      const written = (a.regions || []).filter((r) => r.changed);
      written.slice(0, 8).forEach((r, i) => results.append(regionView(r, `${id}-region-${i}`)));
      if (a.regions && !written.length && a.status === "done") results.append(element("p", {}, "It has changed nothing in device memory."));
      if (a.written && a.written.length) results.append(writtenView(a.written, lineButton));
      if (watch.answered) watch.answered(a, results, shownHere);
      if (a.seen && a.seen.warps) results.append(seenView(a.seen, lineButton));
    }

    // The machine loads behind the page, and tries the kernel for a while: a browser compiles a function when it is first called.
    setTimeout(() => {
      if (!running) theMachine().ask(recorded ? {do: "check", ptx: ""} : {...root.gen5Launch.read(editor.text).request, do: "run", timeline: true, registers: true, max_cycles: 20000}).catch(() => {});
    }, 0);
    // For who shows more beside it.
    const shownHere = {editor, lineButton, stopAt: judge ? null : (cycle) => ((stopAt.value = cycle), go())};
    if (text || !examples.length) load(text || "");
    else {
      // playground.html?example=06_deadlock begins with that one.
      const asked = share ? Math.max(0, examples.findIndex((e) => e.name === new URLSearchParams(location.search).get("example"))) : 0;
      menu.value = String(asked);
      loadExample(examples[asked]);
    }
    if (share && location.hash.length > 1)
      unpacked(location.hash.slice(1)).then((state) => {
        if (typeof state.text !== "string") return;
        recorded = null;
        load(state.text);
        for (const [select, key] of [[machineSelect, "machine"], [orderSelect, "order"], [checkSelect, "check"], [seed, "seed"], [stopAt, "stop_at"]])
          if (state[key] !== undefined) select.value = String(state[key]);
      }).catch(() => (status.textContent = "The address does not hold a kernel."));
    return {go, editor, load};
  };

  root.gen5Parts = {element, table, number};

  // What a page has for the machine: the playground; a lesson's kernels, and a kernel that stands there as text, once they are asked for.
  root.gen5Pages = function (folder, examples) {
    for (const host of document.querySelectorAll("[data-gen5-playground]")) root.gen5Playground(host, {folder, examples, share: true});
    for (const host of document.querySelectorAll("[data-gen5-lesson]")) {
      const why = root.gen5.missing();
      const button = element("button", {type: "button", class: "gen5-run"}, "Load the kernels");
      button.addEventListener("click", () => root.gen5Lesson(host, {folder, name: host.dataset.gen5Lesson}));
      host.append(why ? element("p", {class: "gen5-none"}, why) : button);
    }
    for (const host of document.querySelectorAll("[data-gen5-run]")) {
      const text = host.querySelector("code").textContent, why = root.gen5.missing();
      const button = element("button", {type: "button", class: "gen5-run"}, "Run it here");
      button.addEventListener("click", () => {
        host.replaceChildren();
        const made = root.gen5Playground(host, {folder, text});
        made.go();
        made.editor.area.focus({preventScroll: true});
      });
      host.prepend(why ? element("p", {class: "gen5-none"}, why) : button);
    }
  };
})(globalThis);

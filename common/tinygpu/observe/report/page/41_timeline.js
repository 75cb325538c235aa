// The timeline: an SVG that zooms and pans. Only what is in view is drawn, and spans that are narrower than a pixel are
// drawn as one, so that long launches stay quick.

const kRow = 20, kAxis = 24, kLabelPixels = 6.3, kLeastLetters = 7;

// A timeline beside another one covers the same cycles, and both show the same part of them.
function show_together(views) {
  const length = Math.max(...views.map((v) => v.length)), to = Math.max(...views.map((v) => v.to));
  for (const v of views) {
    v.length = length;
    v.to = to;
    v.on_range = (from, until) => views.forEach((other) => { if (other !== v) other.follow(from, until); });
  }
}

class TimelineView {
  // ends: [{cycle, text}], moments that are marked.
  constructor(spans, name, clock_ghz, ends = []) {
    this.spans = spans;
    this.clock = clock_ghz;
    this.length = spans.cycles;
    this.ends = ends;
    this.from = 0;
    this.to = spans.worth_showing();
    this.chosen = null;   // number of a span
    this.hovered = null;
    this.all_arrows = false;
    this.open = new Map();
    for (const row of spans.rows) if (!this.open.has(row.sm)) this.open.set(row.sm, this.open.size === 0);
    this.build(name);
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  build(name) {
    const tool = (text, label, action) => h("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    this.range = h("output", {});
    this.arrows_note = h("span", { class: "dim" });
    const help = h("p", { class: "dim help", id: TimelineView.unique("keys") },
      "Drag or scroll sideways to pan, Ctrl and the wheel or two fingers to zoom. Keys: ← → go from span to span, ↑ ↓ from " +
      "row to row, + − zoom, Shift with ← → pans, Enter zooms to the span, C goes to what ended a wait, Home shows all.");
    this.labels = h("div", { class: "labels" });
    this.svg = s("svg", { "aria-hidden": "true" });
    this.plot = h("div", {
      class: "plot", tabindex: 0, role: "application", "aria-roledescription": "timeline",
      "aria-label": `Timeline of ${name}`, "aria-describedby": help.id,
      onkeydown: (e) => this.key(e), onpointerdown: (e) => this.press(e), onpointermove: (e) => this.move(e),
      onpointerup: (e) => this.release(e), onpointercancel: (e) => this.release(e),
      onpointerleave: () => { this.hovered = null; this.mark(); },
      ondblclick: () => this.zoom_to_chosen(),
    }, this.svg);
    this.plot.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    this.detail = h("div", { class: "detail", role: "status", "aria-live": "polite" });
    this.pointers = new Map();
    this.root = h("div", { class: "timeline-view" },
      h("div", { class: "tools" },
        tool("−", "Zoom out", () => this.zoom(2)), tool("+", "Zoom in", () => this.zoom(0.5)),
        tool("←", "Pan left", () => this.pan(-0.25)), tool("→", "Pan right", () => this.pan(0.25)),
        tool("All", "Show the whole launch", () => this.show(0, this.length)),
        h("label", {}, h("input", { type: "checkbox", onchange: (e) => { this.all_arrows = e.target.checked; this.draw(); } }),
          " all arrows"), this.range, this.arrows_note),
      h("div", { class: "timeline" }, this.labels, this.plot, this.detail),
      h("ul", { class: "key" }, (this.spans.data.flat ? [["task", "a task"], ["critical", "a task of the critical path"]] : [["run", "a warp runs"], ["wait", "it waits"], ["tma", "TMA copy"],
        ["tensor_core", "tensor core"], ["commit", "commit"], ["tmem", "Tensor Memory port"], ["phase", "mbarrier phase"]])
        .map(([kind, text]) => h("li", {}, h("i", { class: kind + "-key" }), text))),
      help, this.left_out());
    this.mark();
  }

  static unique(prefix) { return `${prefix}-${(TimelineView.count = (TimelineView.count || 0) + 1)}`; }

  left_out() {
    const { left_out, shown_until } = this.spans.data;
    if (!left_out) return null;
    const where = shown_until === undefined ? "" : ` The picture is whole up to cycle ${cycles(shown_until)}.`;
    return h("p", { class: "dim" }, `${plural(left_out, "span")} are left out, to keep the page small.${where}`);
  }

  // ---- What is in view

  show(from, to) {
    const least = 16, width = Math.min(Math.max(to - from, least), this.length);
    const begin = Math.min(Math.max(0, from), this.length - width);
    this.follow(begin, begin + width);
    if (this.on_range) this.on_range(this.from, this.to);
  }
  follow(from, to) {
    this.from = from;
    this.to = to;
    this.draw();
  }
  zoom(factor, around) {
    const chosen = this.chosen === null ? null : this.spans.owner[this.chosen];
    let centre = around;
    if (centre === undefined && chosen) {
      const middle = (chosen[0].begin[chosen[1]] + chosen[0].end[chosen[1]]) / 2;
      if (middle >= this.from && middle <= this.to) centre = middle;
    }
    if (centre === undefined) centre = (this.from + this.to) / 2;
    this.show(centre - (centre - this.from) * factor, centre + (this.to - centre) * factor);
  }
  pan(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }
  width() { return Math.max(50, this.plot.clientWidth); }
  x(time) { return ((time - this.from) / (this.to - this.from)) * this.width(); }
  time(x) { return this.from + (x / this.width()) * (this.to - this.from); }

  // Rows in view: {sm} for the head of an SM, {row} for one of its rows.
  lines() {
    const out = [];
    let sm = null;
    for (const row of this.spans.rows) {
      if (row.sm !== sm && !this.spans.data.flat) out.push({ sm: row.sm });
      sm = row.sm;
      if (this.open.get(sm)) out.push({ row });
    }
    return out;
  }

  // ---- Drawing

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw_now());
  }

  draw_now() {
    const lines = (this.visible = this.lines());
    const width = this.width(), height = kAxis + kRow * lines.length;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("height", height);
    const parts = [this.axis(width, height)];
    lines.forEach((line, i) => {
      const y = kAxis + i * kRow;
      if (line.row) parts.push(this.row(line.row, y, width));
      else parts.push(s("rect", { class: "head", x: 0, y, width, height: kRow }));
    });
    parts.push(this.arrows(lines), this.marked_ends(width, height));
    this.frame_chosen = s("rect", { class: "chosen", visibility: "hidden" });
    this.frame_hovered = s("rect", { class: "hover", visibility: "hidden" });
    parts.push(this.frame_hovered, this.frame_chosen);
    this.svg.replaceChildren(...parts);
    this.draw_labels(lines);
    const us = (n) => (n / (this.clock * 1e3)).toFixed(2);
    this.range.textContent = `cycles ${cycles(this.from)} to ${cycles(this.to)} of ${cycles(this.length)} ` +
      `(${us(this.from)} to ${us(this.to)} µs)`;
    this.mark();
  }

  axis(width, height) {
    const rough = (this.to - this.from) / Math.max(2, width / 110), power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || power;
    const g = s("g", {});
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
      const x = this.x(t).toFixed(1);
      g.append(s("line", { class: "grid", x1: x, x2: x, y1: 16, y2: height }));
      if (x < width - 30) g.append(s("text", { class: "tick", x: Number(x) + 3, y: 13 }, cycles(t)));
    }
    return g;
  }

  marked_ends(width, height) {
    const g = s("g", {});
    for (const [i, { cycle, text }] of this.ends.entries()) {
      const x = Math.min(width - 1, this.x(cycle));
      if (cycle < this.from || cycle > this.to) continue;
      const left = x > width - kLabelPixels * text.length - 8;
      g.append(s("line", { class: "end", x1: x, x2: x, y1: 16, y2: height }),
        s("text", { class: "end-text", x: left ? x - 4 : x + 4, y: height - 5 - 14 * i, "text-anchor": left ? "end" : "start" }, text));
    }
    return g;
  }

  row(row, y, width) {
    const paths = new Map(), texts = [];
    const add = (kind, from, to) => {
      const a = Math.max(-1, from), b = Math.min(width + 1, to);
      if (b <= a) return;
      paths.set(kind, (paths.get(kind) || "") + `M${a.toFixed(1)} ${y + 2}h${(b - a).toFixed(1)}v${kRow - 4}h${(a - b).toFixed(1)}z`);
    };
    for (const stay of row.stays)
      if (stay.end >= this.from && stay.begin <= this.to) add("run", this.x(stay.begin), this.x(stay.end));
    let run_from = 0, run_to = -1, run_kind = null;  // narrow spans, drawn as one
    const flush = () => { if (run_kind) add(run_kind, run_from, Math.max(run_to, run_from + 0.7)); run_kind = null; };
    for (let i = this.spans.first(row, this.from); i < row.count && row.begin[i] <= this.to; ++i) {
      const kind = this.kind(row, i), a = this.x(row.begin[i]), b = this.x(Math.max(row.end[i], row.begin[i] + 1));
      if (b - a < 2) {
        const joins = run_kind && a - run_to < 1 && (run_kind === kind || row.kind === "mbarrier");
        if (!joins) { flush(); run_from = a; run_kind = kind; }
        run_to = Math.max(b, a + 0.7);
        continue;
      }
      flush();
      add(kind, a, b - (b - a > 4 ? 1 : 0));
      const left = Math.max(0, a), room = Math.min(width, b) - left - 8;
      if (room > 30) {
        const fits = Math.floor(room / kLabelPixels), word = this.label(row, i, fits);
        // Two or three letters of a word tell nothing.
        if (word.length <= fits || fits >= kLeastLetters)
          texts.push(s("text", { x: (left + 4).toFixed(1), y: y + 14 }, word.length > fits ? word.slice(0, fits - 1) + "…" : word));
      }
    }
    flush();
    return s("g", {}, [...paths].map(([kind, d]) => s("path", { class: kind, d })), texts);
  }

  kind(row, i) {
    if (row.kind === "task") return this.spans.critical(row, i) ? "critical" : "task";
    if (row.kind === "warp") return "wait";
    if (row.kind === "mbarrier") return i % 2 ? "phase-odd" : "phase";
    return row.kind;
  }
  label(row, i, fits) {
    const word = this.spans.word(row, i).replace(/^cp\.async\.bulk\.?(tensor)? /, "");
    return word.length > fits ? word.replace(/^(phase|mbarrier) (?!0x)/, "") : word;
  }

  arrows(lines) {
    const y = new Map();
    lines.forEach((line, i) => { if (line.row) y.set(line.row, kAxis + i * kRow + kRow / 2); });
    const { from, to } = this.spans.data.arrows;
    const seen = [];
    for (let i = 0; i < from.length; ++i) {
      const [a, j] = this.spans.owner[from[i]], [b, k] = this.spans.owner[to[i]];
      if (!y.has(a) || !y.has(b)) continue;
      if (a.end[j] > this.to || b.end[k] < this.from) continue;
      seen.push([from[i], to[i]]);
    }
    const few = 60, most = 3000;
    const shown = this.all_arrows ? seen.slice(0, most) : seen.length <= few ? seen : [];
    this.arrows_note.textContent = shown.length < seen.length
      ? `${cycles(seen.length)} arrows in view: ${this.all_arrows ? `the first ${cycles(most)} are drawn` : "zoom in, or choose a span, to see them"}` : "";
    const g = s("g", {});
    const draw = ([f, t], strong) => {
      const [a, j] = this.spans.owner[f], [b, k] = this.spans.owner[t];
      if (!y.has(a) || !y.has(b)) return;
      // A wait ends where its cause does; a task begins behind what it needs.
      const x1 = this.x(a.end[j]), x2 = this.x(this.spans.data.flat ? b.begin[k] : b.end[k]), y1 = y.get(a), y2 = y.get(b), bend = Math.max(12, Math.abs(x2 - x1) / 2);
      g.append(s("path", { class: strong ? "arrow strong" : "arrow", d: `M${x1.toFixed(1)} ${y1}C${(x1 + bend).toFixed(1)} ${y1} ${(x2 - bend).toFixed(1)} ${y2} ${x2.toFixed(1)} ${y2}` }));
      g.append(s("path", { class: "tip", d: `M${x2.toFixed(1)} ${y2}l-6 -3v6z` }));
    };
    const critical = seen.filter(([f, t]) => this.spans.critical(...this.spans.owner[f]) && this.spans.critical(...this.spans.owner[t]));
    shown.forEach((pair) => draw(pair, false));
    critical.forEach((pair) => draw(pair, true));
    if (this.chosen !== null) {
      for (const f of this.spans.causes.get(this.chosen) || []) draw([f, this.chosen], true);
      for (const t of this.spans.effects.get(this.chosen) || []) draw([this.chosen, t], true);
    }
    return g;
  }

  draw_labels(lines) {
    const key = lines.map((l) => (l.row ? "r" : "s" + l.sm)).join();
    const chosen = this.chosen === null ? null : this.spans.owner[this.chosen][0];
    if (key !== this.labels_key) {
      this.labels_key = key;
      const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.sm : undefined;
      this.labels.replaceChildren(...lines.map((line) => {
        if (line.row)
          return h("div", { title: line.row.name, class: line.row.bracket ? `bracket ${line.row.bracket}` : undefined },
            this.spans.short_name(line.row));
        const open = this.open.get(line.sm);
        return h("button", { type: "button", "data-sm": line.sm, "aria-expanded": String(open),
          onclick: () => { this.open.set(line.sm, !open); this.draw(); } }, `${open ? "▾" : "▸"} SM ${line.sm}`);
      }));
      if (focused !== undefined && this.labels.isConnected) {
        const again = this.labels.querySelector(`[data-sm="${focused}"]`);
        if (again) again.focus();
      }
    }
    lines.forEach((line, i) => this.labels.children[i].classList.toggle("chosen", Boolean(line.row) && line.row === chosen));
  }

  // ---- The chosen span

  mark() {
    const frame = (rect, number) => {
      if (!rect) return;
      const [row, i] = number === null ? [] : this.spans.owner[number];
      const line = row ? this.visible.findIndex((l) => l.row === row) : -1;
      if (line < 0) { rect.setAttribute("visibility", "hidden"); return; }
      const a = this.x(row.begin[i]), b = this.x(Math.max(row.end[i], row.begin[i] + 1));
      for (const [k, v] of Object.entries({ x: a - 1, y: kAxis + line * kRow + 1, width: Math.max(3, b - a + 1), height: kRow - 2, visibility: "visible" }))
        rect.setAttribute(k, v);
    };
    frame(this.frame_chosen, this.chosen);
    frame(this.frame_hovered, this.hovered);
    const number = this.hovered !== null ? this.hovered : this.chosen;
    if (number === this.told) return;
    this.told = number;
    if (number === null) {
      this.detail.replaceChildren(h("p", { class: "dim" }, "Point at a span, or focus the timeline and press →, to see what it is."));
      return;
    }
    const [row, i] = this.spans.owner[number];
    const length = row.end[i] - row.begin[i];
    this.detail.replaceChildren(
      h("p", {}, h("strong", {}, this.spans.word(row, i)), ` · ${this.spans.data.flat ? "" : `SM ${row.sm}, `}${row.name} · cycle ${cycles(row.begin[i])} to ` +
        `${cycles(row.end[i])}: ${plural(length, "cycle")}`),
      ...this.spans.facts(number).map(([name, value]) => h("p", {}, h("span", { class: "dim" }, name + " "),
        name === "instruction" ? h("code", {}, value) : value)));
  }

  choose(number, reveal) {
    this.chosen = number;
    this.hovered = null;
    if (number !== null && reveal) {
      const [row, i] = this.spans.owner[number];
      this.open.set(row.sm, true);
      const width = this.to - this.from;
      if (row.end[i] < this.from || row.begin[i] > this.to) {
        const centre = (row.begin[i] + row.end[i]) / 2;
        this.show(centre - width / 2, centre + width / 2);
      }
    }
    this.draw();
  }

  zoom_to_chosen() {
    if (this.chosen === null) return;
    const [row, i] = this.spans.owner[this.chosen];
    const length = Math.max(8, row.end[i] - row.begin[i]);
    this.show(row.begin[i] - length, row.end[i] + length);
  }

  // The chosen span's neighbour in its row, or the nearest one of another row.
  step(across, down) {
    const rows = this.lines().filter((l) => l.row).map((l) => l.row);
    if (!rows.length) return;
    if (this.chosen === null || !rows.includes(this.spans.owner[this.chosen][0])) {
      const first = Math.min(this.spans.first(rows[0], this.from), rows[0].count - 1);
      this.choose(this.spans.number(rows[0], first), true);
      return;
    }
    const [row, i] = this.spans.owner[this.chosen];
    if (across) {
      const next = Math.min(Math.max(0, i + across), row.count - 1);
      this.choose(this.spans.number(row, next), true);
    } else {
      const other = rows[Math.min(Math.max(0, rows.indexOf(row) + down), rows.length - 1)];
      const nearest = this.spans.find(other, (row.begin[i] + row.end[i]) / 2, this.spans.cycles);
      this.choose(this.spans.number(other, Math.max(0, nearest)), true);
    }
  }

  // ---- Input

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      ArrowLeft: () => (event.shiftKey ? this.pan(-0.25) : this.step(-1, 0)),
      ArrowRight: () => (event.shiftKey ? this.pan(0.25) : this.step(1, 0)),
      ArrowUp: () => this.step(0, -1), ArrowDown: () => this.step(0, 1),
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), "−": () => this.zoom(2),
      Home: () => this.show(0, this.length), 0: () => this.show(0, this.length),
      Enter: () => this.zoom_to_chosen(), Escape: () => this.choose(null),
      c: () => { const [cause] = this.spans.causes.get(this.chosen) || []; if (cause !== undefined) this.choose(cause, true); },
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  wheel(event) {
    if (event.ctrlKey) {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * 0.004), this.time(event.clientX - this.plot.getBoundingClientRect().left));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.pan((event.deltaX || event.deltaY) / this.width());
    }
  }

  under(event) {
    const box = this.plot.getBoundingClientRect();
    const line = this.visible && this.visible[Math.floor((event.clientY - box.top - kAxis) / kRow)];
    if (!line || !line.row) return null;
    const slack = (3 * (this.to - this.from)) / this.width();
    const i = this.spans.find(line.row, this.time(event.clientX - box.left), slack);
    return i < 0 ? null : this.spans.number(line.row, i);
  }

  press(event) {
    if (event.button) return;
    this.plot.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event.clientX);
    this.moved = 0;
  }
  move(event) {
    if (!this.pointers.has(event.pointerId)) {
      const number = this.under(event);
      if (number !== this.hovered) { this.hovered = number; this.mark(); }
      return;
    }
    const before = [...this.pointers.values()];
    const by = event.clientX - this.pointers.get(event.pointerId);
    this.pointers.set(event.pointerId, event.clientX);
    this.moved += Math.abs(by);
    if (before.length === 1) {
      if (this.moved > 3) this.pan(-by / this.width());
    } else {
      const after = [...this.pointers.values()], gap = (xs) => Math.max(10, Math.abs(xs[0] - xs[1]));
      const left = this.plot.getBoundingClientRect().left;
      this.zoom(gap(before) / gap(after), this.time((after[0] + after[1]) / 2 - left));
    }
  }
  release(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    if (this.moved <= 3 && event.type === "pointerup") this.choose(this.under(event), false);
  }
}

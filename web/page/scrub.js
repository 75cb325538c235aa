// What a run looked like at any of its cycles: gen5Scrub(place, answer, shown). The timeline is the report's (gen5Timeline, made of
// observe/report/page); beside it stand the ring's stages, mbarriers, Tensor Memory's columns and what was in flight.
"use strict";
(function (root) {
  const {element, table, number} = root.gen5Parts;
  const COLUMNS = 512;

  // Of the machine's moments (web/machine/moments.h): what holds at a cycle.
  class Moments {
    constructor(data) {
      this.data = data;
      this.states = data.mbarriers.map(() => []);
      for (const s of data.states) this.states[s[1]].push(s);
    }
    // {name, offset, phase, pending, expected, bytes} of each mbarrier of a CTA that there is at the cycle.
    mbarriers(cta, cycle) {
      const out = new Map();
      this.data.mbarriers.forEach((m, i) => {
        if (m.cta.join() !== cta) return;
        let last = null;
        for (const s of this.states[i]) if (s[0] <= cycle) last = s;
        if (last) out.set(m.offset, {name: m.name.replace(/^mbarrier (?!0x)/, "") || `mbarrier 0x${m.offset.toString(16)}`, offset: m.offset, number: i, phase: last[2], pending: last[3], expected: last[4], bytes: last[5]});
      });
      return [...out.values()].sort((a, b) => a.offset - b.offset);
    }
    ctas() {
      return [...new Set(this.data.mbarriers.map((m) => m.cta.join()))];
    }
    sms() {
      return [...new Set(this.data.columns.map((c) => c[1]))].sort((a, b) => a - b);
    }
    inFlight(cycle) {
      return this.data.operations.filter((o) => o.issued <= cycle && (o.end === null || o.end > cycle));
    }
    // Of each column of an SM: "", "allocated", "written", "being read" or "being written".
    columns(sm, cycle) {
      const out = Array(COLUMNS).fill(""), since = Array(COLUMNS).fill(0);
      for (const [time, at, first, count, taken] of this.data.columns)
        if (at === sm && time <= cycle) (out.fill(taken ? "allocated" : "", first, first + count), since.fill(time, first, first + count));
      const rank = ["", "allocated", "written", "being read", "being written"];
      for (const o of this.data.operations) {
        if (o.sm !== sm || o.issued > cycle) continue;
        const over = o.end !== null && o.end <= cycle;
        for (const [, , first, count, writes] of o.cells || []) {
          const what = over ? (writes ? "written" : "") : writes ? "being written" : "being read";
          for (let c = first; c < Math.min(COLUMNS, first + count); ++c)
            if (out[c] && o.issued >= since[c] && rank.indexOf(what) > rank.indexOf(out[c])) out[c] = what;
        }
      }
      return out;
    }
  }

  // "full[2]" and "empty[2]" are a stage of a ring: it is full while the former has ended more phases.
  const PAIRS = [["full", "empty"], ["filled", "free"], ["ready", "free"], ["loaded", "free"]];
  // "barriers.full[2]" → "stage 2 of barriers"
  function stageName(name, word) {
    const index = /\[(\d+)\]/.exec(name), of = name.replace(/\[\d+\]/, "").replace(word, "").replace(/^[._]+|[._]+$/g, "");
    return `stage${index ? ` ${index[1]}` : ""}${of ? ` of ${of}` : ""}`;
  }
  function stages(mbarriers) {
    const byName = new Map(mbarriers.map((m) => [m.name, m])), out = [];
    for (const full of mbarriers)
      for (const [a, b] of PAIRS) {
        if (!new RegExp(`\\b\\w*${a}`).test(full.name)) continue;
        const empty = byName.get(full.name.replace(a, b));
        if (!empty) continue;
        const state = full.phase > empty.phase ? (empty.pending < empty.expected ? "full, being given back" : "full") : full.bytes > 0 ? `being filled: ${number.format(full.bytes)} bytes missing` : full.pending < full.expected ? "being filled" : "empty";
        out.push({name: stageName(full.name, a), state, round: empty.phase, kind: state.split(/[,:]/)[0]});
        break;
      }
    return out;
  }

  // The report's timeline with a line at the cycle that is shown.
  function withCursor(View) {
    return class extends View {
      draw_now() {
        super.draw_now();
        this.cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
        this.cursor.setAttribute("class", "gen5-cursor");
        this.svg.append(this.cursor);
        this.point(this.cycle || 0);
      }
      point(cycle) {
        this.cycle = cycle;
        if (!this.cursor) return;
        const x = this.x(cycle);
        for (const [k, v] of Object.entries({x1: x, x2: x, y1: 0, y2: this.svg.getAttribute("height"), visibility: x >= 0 && x <= this.width() ? "visible" : "hidden"})) this.cursor.setAttribute(k, v);
      }
      release(event) {
        const click = this.pointers.has(event.pointerId) && this.moved <= 3 && event.type === "pointerup";
        super.release(event);
        if (click && this.pointed) this.pointed(Math.round(this.time(event.clientX - this.plot.getBoundingClientRect().left)));
      }
    };
  }

  function columnsView(moments, sm, cycle) {
    const columns = moments.columns(sm, cycle), runs = [];
    columns.forEach((what, c) => {
      if (runs.length && runs.at(-1).what === what) runs.at(-1).end = c + 1;
      else runs.push({what, begin: c, end: c + 1});
    });
    const words = (r) => `${r.begin} to ${r.end - 1}: ${r.what || "free"}`;
    return element("div", {class: "gen5-tmem"}, element("p", {}, `Tensor Memory of SM ${sm}, columns `, ...runs.filter((r) => r.what || runs.length === 1).map((r, i) => `${i ? "; " : ""}${words(r)}`)),
      element("div", {class: "gen5-columns", "aria-hidden": "true"}, ...runs.map((r) => element("i", {class: `gen5-column gen5-column-${r.what.replace(" ", "-") || "free"}`, style: `flex-grow:${r.end - r.begin}`, title: words(r)}, r.end - r.begin >= 32 ? r.what : ""))));
  }

  root.gen5Scrub = function (place, answer, shown) {
    if (!(answer.timeline && answer.timeline.rows.length) && !answer.moments.states.length && !answer.moments.operations.length) return;
    const moments = new Moments(answer.moments);
    const lastOf = [...answer.moments.states.map((s) => s[0]), ...answer.moments.operations.map((o) => o.end || o.issued), 1];
    // Of a kernel that hangs, what there is to see is over long before its end.
    const last = lastOf.reduce((a, b) => Math.max(a, b)), all = Math.max(answer.timeline ? answer.timeline.cycles : answer.cycles || 0, last);
    const most = all > 4 * last ? Math.ceil(1.25 * last) : all;
    const id = `gen5-scrub-${(root.gen5Scrub.count = (root.gen5Scrub.count || 0) + 1)}`;
    const View = withCursor(root.gen5Timeline.TimelineView);
    const view = answer.timeline && answer.timeline.rows.length ? new View(new root.gen5Timeline.Spans(answer.timeline), answer.kernel || "the kernel", answer.clock_ghz) : null;
    const ctas = moments.ctas(), sms = moments.sms();
    const slider = element("input", {type: "range", id, min: 0, max: most, step: 1, value: 0, class: "gen5-slider"});
    const told = element("output", {for: id});
    const cta = element("select", {id: `${id}-cta`}, ...ctas.map((c) => element("option", {value: c}, `(${c.replaceAll(",", ", ")})`)));
    const state = element("div", {class: "gen5-state"});
    const here = shown.stopAt && element("button", {type: "button", onclick: () => shown.stopAt(Number(slider.value))}, "Stop a run here");
    const step = (by) => element("button", {type: "button", "aria-label": by < 0 ? "To the change before" : "To the next change", onclick: () => jump(by)}, by < 0 ? "⇤" : "⇥");
    const changes = [...new Set([0, ...answer.moments.states.map((s) => s[0]), ...answer.moments.columns.map((c) => c[0]), ...answer.moments.operations.flatMap((o) => [o.issued, o.end ?? o.issued])])].sort((a, b) => a - b);
    function jump(by) {
      const now = Number(slider.value), next = by > 0 ? changes.find((c) => c > now) : changes.findLast((c) => c < now);
      if (next !== undefined) show(next);
    }
    function show(cycle) {
      slider.value = cycle;
      told.textContent = `cycle ${number.format(cycle)} of ${number.format(most)}`;
      if (view) view.point(cycle);
      const bars = cta.value ? moments.mbarriers(cta.value, cycle) : [], ring = stages(bars), flying = moments.inFlight(cycle);
      state.replaceChildren();
      if (ring.length)
        state.append(element("div", {class: "gen5-ring", role: "group", "aria-label": "Stages"}, ...ring.map((s) => element("div", {class: `gen5-stage gen5-stage-${s.kind.replace(" ", "-")}`}, element("b", {}, s.name), element("span", {}, s.state), element("small", {}, `given back ${s.round} time${s.round === 1 ? "" : "s"}`)))));
      for (const sm of sms) state.append(columnsView(moments, sm, cycle));
      if (bars.length) state.append(table("mbarriers", ["name", "offset", "phase", "parity", "arrivals missing", "of", "bytes missing"], bars.map((b) => [b.name, `0x${b.offset.toString(16)}`, b.phase, b.phase % 2, b.pending, b.expected, b.bytes])));
      state.append(flying.length
        ? table(`In flight: ${flying.length}`, ["what", "SM", "bytes", "issued", "there at", "line"], flying.slice(0, 24).map((o) => [o.kind, o.sm, o.bytes, o.issued, o.end ?? "", o.line ? shown.lineButton(o.line, 1) : ""]))
        : element("p", {}, "Nothing asynchronous is in flight."));
      if (answer.moments.whole_until !== undefined && cycle > answer.moments.whole_until) state.append(element("p", {}, `What happened after cycle ${number.format(answer.moments.whole_until)} is not kept whole.`));
    }
    slider.addEventListener("input", () => show(Number(slider.value)));
    cta.addEventListener("change", () => show(Number(slider.value)));
    if (view) view.pointed = (cycle) => show(Math.min(most, Math.max(0, cycle)));
    place.append(element("section", {class: "gen5-scrub", "aria-label": "Timeline"},
      view ? element("div", {class: "gen5-report"}, view.root) : null,
      element("div", {class: "gen5-bar"}, element("label", {for: id}, "Cycle "), step(-1), slider, step(1), told,
        ctas.length > 1 ? element("label", {for: `${id}-cta`}, "CTA ", cta) : null, here),
      state));
    if (view && most < all) view.show(0, most);
    // Of one that is stopped, how it ended; else when it is at work.
    const first = answer.moments.operations[0];
    show(answer.status !== "done" ? Math.min(most, changes.at(-1)) : first ? Math.min(most, first.issued) : 0);
    return {show, slider};
  };
})(globalThis);

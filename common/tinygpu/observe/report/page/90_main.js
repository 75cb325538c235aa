// Each kernel's section is made when it is first opened.

const report = JSON.parse(document.getElementById("data").textContent);

const shape = (d) => (d[2] > 1 ? d.join(" × ") : d[1] > 1 ? `${d[0]} × ${d[1]}` : String(d[0]));

// The whole name, where the heading has a part of it.
function name_part({ profile }) {
  return profile.label === profile.kernel ? null : h("p", { class: "dim" }, h("code", {}, profile.kernel));
}

function facts_part(kernel) {
  const p = kernel.profile, [l] = kernel.launches || [];
  const length = p.cycles
    ? [["Cycles", cycles(p.cycles)], ["Time", `${(p.cycles / (report.run.clock_ghz * 1e3)).toFixed(2)} µs`]]
    : [["Cycles", "stopped by a fault"]];
  const facts = [...length, ["Launches", cycles(p.launches)], ["CTAs", `${cycles(p.ctas)} on ${plural(p.sms, "SM")}`]];
  if (p.occupancy) facts.push(["Fit on an SM", `${plural(p.occupancy.ctas_per_sm, "CTA")} (${p.occupancy.limit})`]);
  if (p.waves !== undefined) facts.push(["Waves", significant(p.waves)]);
  if (p.cycles)
    facts.push(["Tensor core busy", percent(p.tensor_core_busy, 1)], ["TMA busy", percent(p.tma_busy, 1)],
      ["Warp instructions", cycles(p.instructions)]);
  if (l) facts.push(["Registers a thread", l.registers], ["Shared memory a CTA", bytes(l.static_shared + l.dynamic_shared)]);
  if (p.memory) facts.push(["Shared memory moved", bytes(p.memory.shared_bytes)], ["L2 moved", bytes(p.memory.l2_bytes)], ["From device memory", bytes(p.memory.device_bytes)]);
  facts.push(["TMA in", bytes(p.tma_bytes_in)], ["TMA out", bytes(p.tma_bytes_out)]);
  return h("dl", { class: "row" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function launches_part(kernel) {
  const launches = kernel.launches || [];
  if (launches.length < 2 && !launches.some((l) => l.fault)) return null;
  const rows = launches.map((l, i) => h("tr", {}, h("th", { scope: "row", class: "n" }, i + 1), h("td", { class: "n" }, shape(l.grid)),
    h("td", { class: "n" }, shape(l.block)), h("td", { class: "n" }, shape(l.cluster)), h("td", { class: "n" }, bytes(l.static_shared + l.dynamic_shared)),
    h("td", { class: "n" }, l.cycles === undefined ? "" : cycles(l.cycles)), h("td", {}, l.cycles === undefined ? `stopped${l.fault ? ` by ${l.fault}` : ""}` : "")));
  return h("details", {}, h("summary", {}, `${plural(launches.length, "launch", "launches")} one by one`),
    scrolled("Launches", table("Launches of this kernel.", [["#", "n"], ["Grid", "n"], ["Block", "n"], ["Cluster", "n"], ["Shared memory", "n"], ["Cycles", "n"], ["End"]], rows)),
    kernel.launches_left_out ? h("p", { class: "dim" }, `${cycles(kernel.launches_left_out)} more are left out.`) : null);
}

// ---- Timelines: one, or one of each run, aligned

const launches_shown = (kernel) => (kernel.launches || []).map((l, i) => [l, i]).filter(([l]) => l.timeline !== undefined);

function launch_choice(shown, text, show) {
  if (shown.length < 2) return null;
  return h("label", {}, text, " ", h("select", { onchange: (e) => show(shown[e.target.selectedIndex]) },
    shown.map(([l, i]) => h("option", {}, `${i + 1}: grid ${shape(l.grid)}${l.cycles === undefined ? "" : `, ${cycles(l.cycles)} cycles`}`))));
}

// The kernel of the other run that this one is compared with, if it has a timeline.
function partner(index) {
  const other = report.against;
  const pair = other && other.partners.find(([, now]) => now === index);
  return pair && launches_shown(other.kernels[pair[0]]).length ? other.kernels[pair[0]] : null;
}

function timeline_part(kernel, index) {
  const out = [h("h3", {}, "Timeline")];
  const shown = launches_shown(kernel), other = partner(index);
  if (!shown.length) return [...out, h("p", {}, "Not recorded: --trace-kernels says how many launches are.")];
  const place = h("div", { class: other ? "aligned" : undefined });
  let now = shown[0], before = other && launches_shown(other)[0];
  const draw = () => {
    const spans = new Spans(report.timelines[now[0].timeline]);
    if (!before) {
      place.replaceChildren(new TimelineView(spans, kernel.profile.label, report.run.clock_ghz).root);
      return;
    }
    const spans_before = new Spans(report.against.timelines[before[0].timeline]);
    const ends = [{ cycle: spans.cycles, text: "now ends" }, { cycle: spans_before.cycles, text: "before ends" }];
    const views = [new TimelineView(spans_before, `${other.label}, before`, report.against.run.clock_ghz, ends),
      new TimelineView(spans, `${kernel.profile.label}, now`, report.run.clock_ghz, ends)];
    show_together(views);
    // Of a launch that a fault has ended only the timeline's length is known.
    const long = now[0].cycles ?? spans.cycles, long_before = before[0].cycles ?? spans_before.cycles, by = long - long_before;
    place.replaceChildren(
      h("h4", {}, `Before: ${other.label}, ${cycles(long_before)} cycles`), views[0].root,
      h("h4", {}, `Now: ${kernel.profile.label}, ${cycles(long)} cycles`,
        by ? ` (${by < 0 ? "−" : "+"}${cycles(Math.abs(by))}, ${by < 0 ? "−" : "+"}${percent(Math.abs(by), long_before)})` : ""),
      views[1].root);
  };
  out.push(launch_choice(shown, before ? "Launch now" : "Launch", (l) => { now = l; draw(); }));
  if (before) out.push(launch_choice(launches_shown(other), "Launch before", (l) => { before = l; draw(); }));
  out.push(place);
  draw();
  return out;
}

function fill(section, index) {
  const kernel = report.kernels[index];
  section.append(...[name_part(kernel), facts_part(kernel), launches_part(kernel), ...timeline_part(kernel, index), ...roles_part(index, kernel.profile),
    ...source_part(index, kernel), ...roofline_part(kernel, report.run, report.peaks), ...banks_part(index, kernel)].filter(Boolean));
}

// A link into a section that is closed opens it.
function follow_hash() {
  const id = decodeURIComponent(location.hash.slice(1));
  const [, index] = /^(?:kernel|line)-(\d+)/.exec(id) || [];
  const section = index === undefined ? null : document.getElementById("section-" + index);
  if (!section) return;
  section.open = true;
  requestAnimationFrame(() => {
    const target = document.getElementById(id);
    if (!target) return;
    for (const e of document.querySelectorAll(".target")) e.classList.remove("target");
    if (target.tagName === "TR") target.classList.add("target");
    target.scrollIntoView({ block: id.startsWith("kernel") ? "start" : "center" });
    target.focus({ preventScroll: true });
  });
}

// Timelines that the program has written down itself.
function program_timelines() {
  const all = report.program_timelines || [];
  if (!all.length) return [];
  return [h("h2", { id: "tasks" }, "The program's own timelines"),
    h("p", { class: "dim" }, "The program wrote down what its tasks did, and which waited for which."),
    ...all.map((data, i) => {
      const section = h("details", { class: "kernel" }, h("summary", {}, h("h3", {}, data.title)));
      section.addEventListener("toggle", () => {
        if (section.open && section.children.length === 1)
          section.append(new TimelineView(new Spans(data), data.title, report.run.clock_ghz).root);
      });
      section.open = i === all.length - 1;
      return section;
    })];
}

set_up_theme();
const details = document.getElementById("details");
details.append(...program_timelines());
report.kernels.forEach((kernel, index) => {
  const section = h("details", { class: "kernel", id: "section-" + index },
    h("summary", {}, h("h2", { id: "kernel-" + index, tabindex: -1, title: kernel.profile.kernel }, kernel.profile.label)));
  let filled = false;
  section.addEventListener("toggle", () => {
    if (section.open && !filled) { filled = true; fill(section, index); }
  });
  details.append(section);
  if (index === 0) section.open = true;
});
if (report.kernels_left_out) details.append(h("p", {}, `${cycles(report.kernels_left_out)} more kernels are left out.`));
window.addEventListener("hashchange", follow_hash);
follow_hash();

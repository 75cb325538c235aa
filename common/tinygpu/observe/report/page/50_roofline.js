// The kernel's matrix operations against what the machine's tensor cores and memories allow.

function roofline(kernel, run, numbers) {
  const { operations, profile } = kernel;
  if (!operations) return null;
  const seconds = profile.cycles / (run.clock_ghz * 1e9);
  const rate = (per_cycle) => per_cycle * run.clock_ghz * 1e9;
  const peaks = Object.entries(numbers).filter(([key]) => key.startsWith("peak."))
    .map(([key, n]) => ({ key, kind: key.slice(5), rate: rate(n.value) * run.sms, ...n }));
  // The lowest roof of those that the kernel used; none where one of them is not known.
  const kinds = kernel.matrix_kinds || [];
  const own = kinds.map((kind) => peaks.find((p) => p.kind === kind));
  const used = own.includes(undefined) ? undefined : own.sort((a, b) => a.rate - b.rate)[0];
  const memory = profile.memory || {};
  const levels = [["L2", "mem.l2.bytes_per_cycle", memory.l2_bytes], ["device memory", "mem.dram.bytes_per_cycle", memory.device_bytes]]
    .filter(([, key]) => numbers[key])
    .map(([name, key, moved]) => ({ name, key, moved, rate: rate(numbers[key].value), ...numbers[key] }));
  return { rate: operations / seconds, operations, used, peaks, levels };
}

function roofline_picture(r) {
  const width = 720, height = 340, left = 58, right = 30, top = 16, bottom = 44;
  const points = r.levels.filter((l) => l.moved).map((l) => ({ ...l, intensity: r.operations / l.moved }));
  const xs = [1, 1024, ...points.map((p) => p.intensity), ...r.levels.map((l) => r.used.rate / l.rate)];
  const ys = [r.used.rate, r.rate, ...r.levels.map((l) => l.rate)];
  const span = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values) * 1.2))];
  const [x0, x1] = span(xs), [y0, y1] = span(ys);
  const x = (v) => left + ((Math.log10(v) - x0) / (x1 - x0)) * (width - left - right);
  const y = (v) => height - bottom - ((Math.log10(v) - y0) / (y1 - y0)) * (height - top - bottom);
  const parts = [];
  for (let e = x0; e <= x1; ++e)
    parts.push(s("line", { class: "grid", x1: x(10 ** e), x2: x(10 ** e), y1: top, y2: height - bottom }),
      s("text", { class: "tick", x: x(10 ** e), y: height - bottom + 16, "text-anchor": "middle" }, significant(10 ** e)));
  for (let e = y0; e <= y1; ++e)
    parts.push(s("line", { class: "grid", x1: left, x2: width - right, y1: y(10 ** e), y2: y(10 ** e) }),
      s("text", { class: "tick", x: left - 6, y: y(10 ** e) + 4, "text-anchor": "end" }, significant(10 ** (e - 12))));
  parts.push(s("text", { class: "tick", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "FLOP a byte"),
    s("text", { class: "tick", x: 14, y: (top + height - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(top + height - bottom) / 2})` }, "TFLOP/s"));
  const last = 10 ** x1;
  for (const level of r.levels) {
    const ridge = r.used.rate / level.rate, start = Math.max(10 ** x0, 10 ** y0 / level.rate);
    parts.push(s("path", { class: "roof", d: `M${x(start)} ${y(start * level.rate)}L${x(ridge)} ${y(r.used.rate)}H${x(last)}` }));
    const at = Math.sqrt(start * ridge), slope = Math.atan2(y(at * level.rate * 10) - y(at * level.rate), x(at * 10) - x(at));
    parts.push(s("text", { x: x(at), y: y(at * level.rate) - 6, "text-anchor": "middle", transform: `rotate(${(slope * 180) / Math.PI} ${x(at)} ${y(at * level.rate)})` }, level.name));
  }
  parts.push(s("text", { x: width - right, y: y(r.used.rate) - 6, "text-anchor": "end" }, `${r.used.kind}, all SMs: ${significant(r.used.rate / 1e12)} TFLOP/s`));
  points.forEach((p, i) => {
    parts.push(s("circle", { class: i ? "point hollow" : "point", cx: x(p.intensity), cy: y(r.rate), r: 5 },
      s("title", {}, `${p.name}: ${significant(p.intensity)} FLOP a byte, ${significant(r.rate / 1e12)} TFLOP/s`)));
    parts.push(s("text", { x: x(p.intensity), y: y(r.rate) + 20 + 14 * i, "text-anchor": "middle" }, `by bytes of ${p.name}`));
  });
  const told = points.map((p) => `${significant(p.intensity)} FLOP a byte of ${p.name}`).join(", ");
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Roofline: ${significant(r.rate / 1e12)} TFLOP/s at ${told}` }, parts);
}

function roofline_part(kernel, run, numbers) {
  const out = [h("h3", {}, "Roofline")];
  if (!kernel.profile.cycles) return [...out, h("p", {}, "No point: no launch has come to its end.")];
  const r = roofline(kernel, run, numbers);
  if (!r) return [...out, h("p", {}, "No point: the kernel executed no matrix instruction, and other arithmetic is not counted.")];
  if (!r.used) return [...out, h("p", {}, "No roof: the machine profile has no peak for its matrix instructions.")];
  out.push(h("p", {}, `${scaled(r.operations)}FLOP of matrix instructions in ${cycles(kernel.profile.cycles)} cycles: `,
    h("strong", {}, `${significant(r.rate / 1e12)} TFLOP/s`), `, ${percent(r.rate, r.used.rate)} of the peak of all ${run.sms} SMs`,
    kernel.profile.sms < run.sms ? `, ${percent(r.rate, (r.used.rate * kernel.profile.sms) / run.sms)} of that of the ${kernel.profile.sms} that had a CTA.` : "."));
  out.push(h("div", { class: "roofline" }, roofline_picture(r)));
  const rows = [...r.levels.map((l) => [l.name, l.moved === undefined ? "" : bytes(l.moved),
    l.moved ? significant(r.operations / l.moved) : "", `${significant(l.rate / 1e12)} TB/s`, l]),
  [`tensor cores, ${r.used.kind}`, "", "", `${significant(r.used.rate / 1e12)} TFLOP/s`, r.used]]
    .map(([name, moved, intensity, rate, n]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "n" }, moved),
      h("td", { class: "n" }, intensity), h("td", { class: "n" }, rate), h("td", {}, `${n.source} (${n.trust})`)));
  out.push(scrolled("Roofline's numbers", table("The roofs, from the machine profile.",
    [["Roof"], ["Bytes moved", "n"], ["FLOP a byte", "n"], ["At most", "n"], ["Source"]], rows)));
  return out;
}

// Where the time went: by role, and by line of source.

const line_id = (kernel, at) => `line-${kernel}-${at}`;

function place_link(kernel, at) {
  return h("a", { class: "code", href: "#" + encodeURIComponent(line_id(kernel, at)) }, at);
}

const waited_for = (line) => {
  const waits = Object.entries(line.waits || {});
  waits.push(["operands", line.operands], ["the issue port", line.port]);
  return waits.filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
};
const waited = (line) => sum(waited_for(line).map(([, n]) => n));

function role_bar(role, waiting) {
  const part = (name, n) => h("i", { class: name, style: `width:${role.cycles ? (100 * n) / role.cycles : 0}%` });
  return h("div", { class: "bar", "aria-hidden": "true" }, part("issuing", role.issuing), part("operands", role.operands),
    part("port", role.port), part("waiting", waiting));
}

function roles_table(index, profile) {
  const shown = 5;
  const rows = (profile.roles || []).map((role) => {
    const waits = role.waits || [];
    const waiting = sum(waits.map((w) => w.cycles));
    return h("tr", {},
      h("th", { scope: "row" }, role.role, role_bar(role, waiting)),
      h("td", { class: "n" }, cycles(role.warps)),
      ...[role.issuing, role.operands, role.port, waiting].map((n) => h("td", { class: "n" }, percent(n, role.cycles))),
      h("td", {}, h("ul", { class: "waits" },
        waits.slice(0, shown).map((w) => h("li", {}, h("b", {}, percent(w.cycles, role.cycles)),
          h("span", {}, w.for, " at ", place_link(index, w.at)))),
        waits.length > shown ? h("li", { class: "dim" }, `and ${waits.length - shown} more`) : null)));
  });
  return scrolled("Time by role", table(
    "Shares of the time from a CTA's start to its end, over all warps of a role. A role is named by what its warps issue.",
    [["Role"], ["Warps", "n"], ["Issuing", "n"], ["Operands", "n"], ["Issue port", "n"], ["Waiting", "n"],
      ["Waiting for"]], rows));
}

function roles_part(index, profile) {
  const head = h("h3", {}, "Where the time went, by role");
  if (!(profile.roles || []).length) return [head, h("p", {}, "Not known: no CTA has come to its end.")];
  return [head, roles_table(index, profile),
    h("ul", { class: "key" }, [["issuing", "issuing"], ["operands", "waiting for operands"],
      ["port", "waiting for the issue port"], ["waiting", "waiting for barriers, copies, other lanes"]]
      .map(([name, text]) => h("li", {}, h("i", { class: name }), text)))];
}

// ---- Source

function source_row(index, number, text, line, all, conflicts) {
  const columns = 4 + (conflicts ? 1 : 0);
  if (!line)
    return h("tr", { class: "cold" }, h("th", { scope: "row" }, number), h("td"), h("td", { class: "code" }, text),
      Array.from({ length: columns }, () => h("td")));
  const cost = line.issuing + waited(line);
  const [reason] = waited_for(line);
  const m = line.memory || {};
  return h("tr", { id: line_id(index, line.at), tabindex: -1 },
    h("th", { scope: "row" }, number),
    h("td", { class: "n cost", style: `--share:${all ? (100 * cost) / all : 0}%` }, percent(cost, all)),
    h("td", { class: "code" }, text),
    h("td", { class: "n" }, cycles(line.instructions)), h("td", { class: "n" }, cycles(line.issuing)),
    h("td", { class: "n" }, cycles(waited(line))),
    conflicts ? h("td", { class: "n" }, m.bank_passes ? cycles(m.bank_passes - m.bank_passes_without_conflicts) : "") : null,
    h("td", {}, reason ? reason[0] : ""));
}

function source_table(index, caption, rows, conflicts) {
  const heads = [["Line", "n"], ["Share", "n"], ["Source"], ["Instructions", "n"], ["Issuing", "n"], ["Waiting", "n"]];
  if (conflicts) heads.push(["Bank conflicts", "n"]);
  heads.push(["Mostly for"]);
  return scrolled(`Source: ${caption}`, table(caption, heads, rows, { class: "source" }));
}

function source_part(index, kernel) {
  const lines = kernel.profile.lines || [];
  const all = sum(lines.map((l) => l.issuing + waited(l)));
  const conflicts = lines.some((l) => l.memory && l.memory.bank_passes > l.memory.bank_passes_without_conflicts);
  const hot = [...lines].sort((a, b) => b.issuing + waited(b) - a.issuing - waited(a)).slice(0, 6);
  const out = [h("h3", {}, "Where the time went, by line"),
    h("p", { class: "dim" }, "Cycles of warps: issuing until the next instruction may follow, or waiting. Costliest: ",
      hot.map((l, i) => [i ? ", " : "", place_link(index, l.at), ` ${percent(l.issuing + waited(l), all)}`]).flat(), ".")];
  const done = new Set();
  for (const { file, lines: text } of kernel.source || []) {
    const by_number = new Map(lines.filter((l) => l.file === file).map((l) => [l.line, l]));
    const rows = [];
    let before = 0;
    for (const [number, words] of text) {
      if (before && number !== before + 1)
        rows.push(h("tr", { class: "gap" }, h("td", { colspan: conflicts ? 8 : 7 }, plural(number - before - 1, "line"))));
      before = number;
      const line = by_number.get(number);
      if (line) done.add(line);
      rows.push(source_row(index, number, words, line, all, conflicts));
    }
    out.push(source_table(index, file, rows, conflicts));
  }
  const rest = lines.filter((l) => !done.has(l)).sort((a, b) => b.issuing + waited(b) - a.issuing - waited(a));
  const most = 100;
  if (rest.length) {
    const caption = rest.some((l) => l.file) ? "Lines whose file could not be read, or that cost little"
      : done.size ? "PTX instructions that belong to no CUDA line" : "PTX: the program was built without -lineinfo";
    out.push(source_table(index, caption,
      rest.slice(0, most).map((l) => source_row(index, l.at, l.ptx, l, all, conflicts)), conflicts));
    if (rest.length > most) out.push(h("p", { class: "dim" }, `${plural(rest.length - most, "more line")} are left out.`));
  }
  return out;
}

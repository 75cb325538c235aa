// Shared memory: where the rows of each tensor copy's box lie, and which lines met bank conflicts.

const bank_names = (group) => `${4 * group}–${4 * group + 3}`;

function box_figure(box) {
  const chunks = Math.max(...box.banks.map((r) => r.length));
  const shape = box.box.join(" × ") + " " + box.element;
  const rows = box.banks.map((row, r) => h("tr", {}, h("th", { scope: "row" }, r),
    row.map((group) => h("td", { class: `b${group}` }, bank_names(group)))));
  const caption = `Box ${shape}, swizzle ${box.swizzle}${box.interleave ? `, interleave ${box.interleave} B` : ""}`;
  const notes = [`Row of the box by 16-byte chunk of the row: the banks that hold it. A row has ${plural(box.row_bytes, "byte")}, the next ` +
    `one begins ${plural(box.pitch, "byte")} on; the box begins at shared offset ${box.shared}.`];
  if (box.rows > box.banks.length) notes.push(`The first ${box.banks.length} of ${cycles(box.rows)} rows.`);
  if (chunks * 16 < box.row_bytes) notes.push(`The first ${chunks * 16} bytes of each row.`);
  if (!box.whole_chunks) notes.push("The two halves of a chunk change places in some rows.");
  if (box.column_passes)
    notes.push(`Reading one chunk of each of 8 rows, as a matrix of ldmatrix does, takes ${plural(box.column_passes, "pass", "passes")}` +
      (box.column_passes > 1 ? ": rows share their banks." : ": each row has banks of its own."));
  const by = [];
  if (box.loads) by.push(plural(box.loads, "load"));
  if (box.stores) by.push(plural(box.stores, "store"));
  notes.push(`${by.join(", ")} at ${box.at.join(", ")}.`);
  return h("figure", {}, scrolled(caption, h("table", { class: "banks" }, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "row"), Array.from({ length: chunks }, (_, c) => h("th", { scope: "col" }, c)))),
    h("tbody", {}, rows))), h("figcaption", {}, notes.join(" ")));
}

function conflicts_table(index, profile) {
  const lines = (profile.lines || []).filter((l) => l.memory && l.memory.bank_passes)
    .map((l) => ({ at: l.at, passes: l.memory.bank_passes, ideal: l.memory.bank_passes_without_conflicts }));
  if (!lines.length) return h("p", {}, "No warp reads or writes shared memory by itself.");
  const worst = lines.filter((l) => l.passes > l.ideal).sort((a, b) => b.passes - b.ideal - a.passes + a.ideal);
  const total = sum(lines.map((l) => l.passes));
  if (!worst.length) return h("p", {}, `No bank conflicts in ${plural(total, "pass", "passes")} of the banks.`);
  return scrolled("Bank conflicts by line", table("Bank conflicts: passes of the banks that accesses of warps took, and would take without conflicts.",
    [["Line"], ["Passes", "n"], ["Without conflicts", "n"], ["Conflicts", "n"]],
    worst.slice(0, 20).map((l) => h("tr", {}, h("th", { scope: "row" }, place_link(index, l.at)), h("td", { class: "n" }, cycles(l.passes)),
      h("td", { class: "n" }, cycles(l.ideal)), h("td", { class: "n" }, cycles(l.passes - l.ideal))))));
}

function banks_part(index, kernel) {
  const out = [h("h3", {}, "Shared memory"), conflicts_table(index, kernel.profile)];
  const boxes = kernel.boxes || [];
  if (boxes.length) {
    out.push(h("p", {}, "How tensor copies lay the rows of their boxes over the 32 banks:"),
      h("div", { class: "boxes" }, boxes.map(box_figure)));
    if (kernel.boxes_left_out) out.push(h("p", { class: "dim" }, `${plural(kernel.boxes_left_out, "more box", "more boxes")} are left out.`));
  }
  return out;
}

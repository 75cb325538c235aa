// A timeline's rows as the page draws them. Times are cycles since the launch began.

// A column is one value for all spans of a row, or one value each.
const at = (column, i) => (Array.isArray(column) ? column[i] : column);

class Spans {
  constructor(data) {
    this.data = data;
    this.cycles = Math.max(1, data.cycles);
    this.rows = [];
    this.owner = [];  // of each span, by its number: [row, place in it]
    for (const r of data.rows) {
      const begin = new Float64Array(r.count), end = new Float64Array(r.count);
      let time = 0, reach = 0;
      const row = { ...r, begin, end, reach: new Float64Array(r.count), first: this.owner.length };
      for (let i = 0; i < r.count; ++i) {
        time += at(r.begin, i);
        begin[i] = time;
        end[i] = time + at(r.length, i);
        this.cycles = Math.max(this.cycles, end[i]);
        row.reach[i] = reach = Math.max(reach, end[i]);  // the spans up to here end no later
        this.owner.push([row, i]);
      }
      row.stays = data.ctas.filter((c) => r.kind === "warp" && r.row === 0 && c[0] === r.sm && c[1] === r.slot)
        .map((c) => ({ cta: c.slice(2, 5), begin: c[5], end: c[6] }));
      this.rows.push(row);
    }
    // Rows of one unit, which works on several things at a time, are bracketed: the first, the middle ones, the last.
    this.rows.forEach((row, i) => {
      const below = this.rows[i + 1], goes_on = Boolean(below && below.row > row.row && below.sm === row.sm);
      row.bracket = row.row ? (goes_on ? "middle" : "bottom") : goes_on ? "top" : null;
    });
    this.slots = new Map();  // of each SM: how many CTAs it had at a time
    for (const row of this.rows) this.slots.set(row.sm, Math.max(this.slots.get(row.sm) || 1, row.slot % 32 + 1));
    this.causes = new Map();  // of a span: those that it waited for; and the other way round
    this.effects = new Map();
    const { from, to } = data.arrows;
    from.forEach((f, i) => {
      if (!this.causes.has(to[i])) this.causes.set(to[i], []);
      if (!this.effects.has(f)) this.effects.set(f, []);
      this.causes.get(to[i]).push(f);
      this.effects.get(f).push(to[i]);
    });
  }

  // Where a first look ends: warps of a kernel that hangs wait for ever after the last unit has fallen silent.
  worth_showing() {
    let last = 0;
    for (const row of this.rows) if (row.kind !== "warp" && row.kind !== "mbarrier" && row.count) last = Math.max(last, row.reach[row.count - 1]);
    return last && this.cycles > 4 * last ? 1.25 * last : this.cycles;
  }

  // The first span of a row that has not ended at `time`.
  first(row, time) {
    let low = 0, high = row.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.reach[middle] <= time) low = middle + 1; else high = middle;
    }
    return low;
  }

  // The span at `time`, or the nearest one within `slack` cycles; −1: none.
  find(row, time, slack) {
    let best = -1, distance = slack;
    for (let i = this.first(row, time - slack); i < row.count && row.begin[i] <= time + slack; ++i) {
      const away = Math.max(0, row.begin[i] - time, time - row.end[i]);
      if (away <= distance) { best = i; distance = away; }
    }
    return best;
  }

  // A row's name where there is little room: a further row of a unit is its number alone.
  short_name(row) {
    if (row.row) return String(row.row + 1);
    const name = row.name.replace(/^CTA slot (\d+) /, this.slots.get(row.sm) > 1 ? "slot $1 " : "");
    return name.replace(/mbarrier (?!0x)/, "");
  }

  number(row, i) { return row.first + i; }
  word(row, i) { return this.data.words[at(row.word, i)]; }

  critical(row, i) { return Boolean(row.critical && at(row.critical, i)); }

  // What is known of a span: [name, value] each.
  facts(number) {
    const [row, i] = this.owner[number];
    const facts = [];
    const place = this.data.places[at(row.place, i)];
    if (place) facts.push(["at", place.at], ["instruction", place.ptx]);
    const thread = this.data.threads[at(row.thread, i)];
    if (thread) facts.push(["by", thread]);
    if (at(row.bytes, i)) facts.push(["moves", bytes(at(row.bytes, i))]);
    if (at(row.queued, i) > 0) facts.push(["issued", `${cycles(at(row.queued, i))} cycles before the unit took it up`]);
    for (const cause of (this.causes.get(number) || []).slice(0, 3)) {
      const [r, j] = this.owner[cause];
      facts.push([this.data.flat ? "needs" : "ended by", `${this.word(r, j)} (${r.name}), which ended at ${cycles(r.end[j])}`]);
    }
    const effects = this.effects.get(number) || [];
    if (effects.length)
      facts.push(this.data.flat ? ["needed by", plural(effects.length, "task")]
        : ["ends", plural(effects.length, "wait or commit", "waits or commits")]);
    return facts;
  }
}

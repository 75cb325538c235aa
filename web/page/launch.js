// How a kernel is launched, as comments at the head of its PTX say it:
//
//   //! title: Add two arrays
//   //! says: One thread an element.
//   //! launch: grid 2, block 64, cluster 1, shared 0, kernel add, machine b200, order late, seed 1, check races
//   //! buffer x: f32[128] = index
//   //! parameters: x, u32 128, map(x, 16 x 8, box 16 x 8, swizzle 32), struct(0: x, 8: u32 5)
"use strict";
(function (root) {
  const PATTERNS = ["zero", "one", "index", "mod8", "alternating", "random", "identity", "bytes", "unwritten"];  // and mod2, mod3, …
  const TYPES = ["u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64", "f16", "bf16", "f32", "f64", "e4m3", "e5m2", "tf32"];

  class Wrong extends Error {}

  // What commas outside of brackets part.
  function pieces(text) {
    const out = [];
    let depth = 0, piece = "";
    for (const c of text) {
      depth += (c === "(") - (c === ")");
      if (c === "," && depth === 0) out.push(piece), (piece = "");
      else piece += c;
    }
    if (piece.trim()) out.push(piece);
    return out.map((p) => p.trim());
  }
  const numbers = (text) => text.trim().split(/[\s×x]+/).map((n) => {
    if (!/^\d+$/.test(n)) throw new Wrong(`${n || "nothing"} is no whole number`);
    return Number(n);
  });

  function parameter(text, buffers) {
    const bufferOf = (name) => {
      const at = buffers.findIndex((b) => b.name === name);
      if (at < 0) throw new Wrong(`there is no buffer ${name}; a number has its type before it: u32 128`);
      return at;
    };
    let m = /^(\w+)\s*\((.*)\)$/s.exec(text);
    if (m && m[1] === "struct")
      return {struct: pieces(m[2]).map((p) => {
        const field = /^(\d+)\s*:\s*(.*)$/s.exec(p);
        if (!field) throw new Wrong(`${p}: a field of a struct is its offset, a colon and what is there`);
        return {at: Number(field[1]), ...parameter(field[2].trim(), buffers)};
      })};
    if (m && m[1] === "map") {
      const [name, dims, ...more] = pieces(m[2]);
      const map = {of: bufferOf(name), dims: numbers(dims || ""), box: [], swizzle: 0};
      for (const p of more) {
        const [word, ...rest] = p.split(/\s+/);
        if (word === "box") map.box = numbers(rest.join(" "));
        else if (word === "swizzle") map.swizzle = numbers(rest.join(" "))[0];
        else throw new Wrong(`${word}: a map has box and swizzle`);
      }
      return {map};
    }
    m = /^(\w+)\s+([-+\w.]+)$/.exec(text);
    if (m && TYPES.includes(m[1])) {
      const value = Number(m[2]);
      if (Number.isNaN(value)) throw new Wrong(`${m[2]} is no number`);
      return {value, type: m[1]};
    }
    return {buffer: bufferOf(text)};
  }

  // {"request": for the machine, without "do", "title", "says", "messages": [{line, column, text, help}]}
  function read(text) {
    const request = {ptx: text, buffers: [], parameters: []}, out = {request, title: "", says: "", messages: []};
    text.split("\n").forEach((line, at) => {
      const m = /^\s*\/\/!\s*(\w+)\s*([^:]*):\s*(.*?)\s*$/.exec(line);
      if (!m) {
        if (/^\s*\/\/!/.test(line)) out.messages.push({line: at + 1, column: 1, text: "a line of the launch begins with title:, says:, launch:, buffer NAME: or parameters:", help: ""});
        return;
      }
      const [, what, name, value] = m;
      try {
        if (what === "title") out.title = value;
        else if (what === "says") out.says += (out.says && " ") + value;
        else if (what === "launch") {
          for (const p of pieces(value)) {
            const [word, ...rest] = p.split(/\s+/), all = rest.join(" ");
            if (["grid", "block", "cluster"].includes(word)) request[word] = numbers(all);
            else if (["shared", "seed", "max_cycles", "stop_at"].includes(word)) request[word] = numbers(all)[0];
            else if (["kernel", "machine", "order", "check"].includes(word)) request[word] = all;
            else throw new Wrong(`${word}: a launch has grid, block, cluster, shared, kernel, machine, order, seed, check, max_cycles, stop_at`);
          }
        } else if (what === "buffer") {
          const b = /^(\w+)\s*\[\s*([^\]]+)\]\s*(?:=\s*(\w+))?$/.exec(value);
          if (!b || !name.trim()) throw new Wrong("write buffer NAME: TYPE[COUNT] = PATTERN");
          if (!TYPES.includes(b[1])) throw new Wrong(`${b[1]} is none of ${TYPES.join(", ")}`);
          const pattern = b[3] || "zero";
          if (!PATTERNS.includes(pattern) && !/^mod[1-9]\d{0,8}$/.test(pattern)) throw new Wrong(`${pattern} is none of ${PATTERNS.join(", ")}`);
          request.buffers.push({name: name.trim(), type: b[1], count: numbers(b[2]).reduce((x, y) => x * y, 1), pattern});
        } else if (what === "parameters") request.parameters = pieces(value).map((p) => parameter(p, request.buffers));
        else throw new Wrong(`${what}: a line of the launch begins with title:, says:, launch:, buffer NAME: or parameters:`);
      } catch (e) {
        if (!(e instanceof Wrong)) throw e;
        out.messages.push({line: at + 1, column: 1, text: e.message, help: ""});
      }
    });
    return out;
  }

  root.gen5Launch = {read};
  if (typeof module !== "undefined") module.exports = root.gen5Launch;
})(globalThis);

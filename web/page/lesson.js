// A chapter's launches in the page of its lesson: gen5Lesson(element, {folder, name}). They were recorded from the program (book/lessons.py);
// the CUDA source stands beside the PTX, and a line of either shows the other's.
"use strict";
(function (root) {
  const {element} = root.gen5Parts;

  // gen5LessonData(NAME, TEXT): what machine/lessons/NAME.js calls; gzip in base64.
  const waiting = new Map();
  root.gen5LessonData = (name, text) => waiting.get(name)(root.gen5.unpacked(text).json());
  const data = (folder, name) => new Promise((done, failed) => {
    waiting.set(name, done);
    const script = element("script", {src: `${folder}lessons/${name}.js`});
    script.onerror = () => failed(new Error(`lessons/${name}.js is missing`));
    document.head.append(script);
  });

  // Of each line of PTX the lines of CUDA that it came from: [{file, line}], the innermost first. (.file, .loc)
  function origins(ptx) {
    const files = new Map(), out = [], places = new Map();
    let now = [];
    const lines = ptx.split("\n");
    for (const line of lines) {
      const m = /^\s*\.file\s+(\d+)\s+"([^"]*)"/.exec(line);
      if (m) files.set(m[1], m[2]);
    }
    for (const line of lines) {
      const m = /^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(.*)/.exec(line);
      if (m) {
        now = [{file: files.get(m[1]), line: Number(m[2])}];
        const outer = /inlined_at\s+(\d+)\s+(\d+)\s+(\d+)/.exec(m[4]);
        if (outer) {
          now.push(...(places.get(outer.slice(1, 4).join()) || [{file: files.get(outer[1]), line: Number(outer[2])}]));
        }
        places.set([m[1], m[2], m[3]].join(), now);
      } else if (/^\s*}/.test(line)) now = [];
      out.push(/^\s*(\.|\/\/|[{}]|$|[$\w]+:\s*$)/.test(line) ? [] : now);
    }
    return out;
  }

  class Sources {
    constructor(texts, chosen) {
      this.texts = texts;
      this.chosen = chosen;
      this.tabs = element("div", {class: "gen5-tabs", role: "group", "aria-label": "Files"});
      this.list = element("div", {class: "gen5-source", tabindex: "0", role: "region", "aria-label": "CUDA source"});
      this.box = element("div", {class: "gen5-cuda"}, this.tabs, this.list);
    }
    load(files, used) {
      this.used = used;
      this.buttons = files.map((f) => element("button", {type: "button", "aria-pressed": "false", onclick: () => this.open(f)}, f.replace(/^chapters\/[^/]*\//, "")));
      this.files = files;
      this.tabs.replaceChildren(...this.buttons);
      this.file = null;
      if (files.length) this.open(files[0]);
    }
    open(file) {
      if (this.file === file) return;
      this.file = file;
      this.files.forEach((f, i) => this.buttons[i].setAttribute("aria-pressed", String(f === file)));
      const used = this.used.get(file) || new Set();
      this.rows = this.texts[file].split("\n").map((text, i) => {
        const here = used.has(i + 1);
        const row = element("div", {class: here ? "gen5-row gen5-used" : "gen5-row"}, element(here ? "button" : "span", here ? {type: "button", class: "gen5-number-of-line", "aria-label": `PTX of line ${i + 1}`, onclick: () => this.chosen(file, i + 1)} : {class: "gen5-number-of-line"}, String(i + 1)), element("code", {}, text || " "));
        return row;
      });
      this.list.replaceChildren(...this.rows);
      const first = this.rows.find((_, i) => used.has(i + 1));
      if (first) this.list.scrollTop = Math.max(0, first.offsetTop - 40);
    }
    // Marks the lines of the innermost place that is one of the sources.
    mark(places) {
      for (const r of this.rows || []) r.classList.remove("gen5-here");
      const known = places.filter((p) => this.texts[p.file] !== undefined && this.files.includes(p.file));
      if (!known.length) return;
      this.open(known[0].file);
      for (const p of known) if (p.file === this.file && this.rows[p.line - 1]) this.rows[p.line - 1].classList.add("gen5-here");
      const row = this.rows[known[0].line - 1];
      if (row) this.list.scrollTop = Math.max(0, row.offsetTop - this.list.clientHeight / 3);
    }
  }

  function start(host, folder, chapter) {
    let from = [];
    const examples = chapter.launches.map((l) => {
      const {title, group, says, ptx, data: parts, ...rest} = l;
      const request = {...rest, packed: chapter.data[l.packed], sources: chapter.sources,
        memory: l.memory.map((m) => ({...m, data: chapter.data[m.data]})), variables: l.variables.map((v) => ({...v, data: chapter.data[v.data]}))};
      return {title, group, says, text: chapter.ptx[ptx], request};
    });
    const says = element("p", {class: "gen5-says"});
    let shown = null;
    const sources = new Sources(chapter.sources, (file, line) => {
      const lines = from.flatMap((places, i) => (places.some((p) => p.file === file && p.line === line) ? [i + 1] : []));
      if (!shown || !lines.length) return;
      shown.editor.mark(new Map(lines.map((l) => [l, "other"])));
      shown.editor.show(lines[0]);
      sources.mark([{file, line}]);
    });
    const place = element("div", {class: "gen5-lesson-play"});
    host.append(says, element("div", {class: "gen5-lesson"}, sources.box, place));
    return root.gen5Playground(place, {folder, examples, menuWord: "Kernel", watch: {
      loaded(example, here) {
        shown = here;
        says.textContent = example.says || "";
        from = origins(example.text);
        const used = new Map();
        for (const places of from) for (const p of places) {
          if (!used.has(p.file)) used.set(p.file, new Set());
          used.get(p.file).add(p.line);
        }
        const files = Object.keys(chapter.sources).filter((f) => used.has(f));
        files.sort((a, b) => (b.startsWith("chapters/") - a.startsWith("chapters/")) || used.get(b).size - used.get(a).size);
        sources.load(files, used);
      },
      line(n) {
        sources.mark(from[n - 1] || []);
      },
      answered({diagnoses = []}) {
        const told = diagnoses.find((d) => d.place.ptxLine);
        if (told) sources.mark(from[told.place.ptxLine - 1] || []);
      },
    }});
  }

  root.gen5Lesson = async function (host, {folder, name}) {
    const note = element("p", {class: "gen5-status", role: "status"}, "Loading the chapter's kernels …");
    host.replaceChildren(note);
    try {
      const chapter = await data(folder, name);
      note.remove();
      return start(host, folder, chapter);
    } catch (e) {
      note.textContent = `The chapter's kernels do not load: ${e.message}`;
      return null;
    }
  };
})(globalThis);

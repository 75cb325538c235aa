// The exercises: each section with data-gen5-exercise gets an editor and a judge. One is shown at a time; what a reader has solved and written is
// kept in the browser.
"use strict";
(function (root) {
  const KEPT = "gen5-practice";

  // {"done": {name: cycles}, "texts": {name: text}}. A browser that keeps nothing is none the worse for it.
  function Progress() {
    let kept = {};
    try {
      kept = JSON.parse(localStorage.getItem(KEPT)) || {};
    } catch {
      // nothing is kept here
    }
    this.done = kept.done && typeof kept.done === "object" ? kept.done : {};
    this.texts = kept.texts && typeof kept.texts === "object" ? kept.texts : {};
    this.keep = () => {
      try {
        localStorage.setItem(KEPT, JSON.stringify({done: this.done, texts: this.texts}));
      } catch {
        // nor will this be
      }
    };
  }

  root.gen5Practice = function (folder, exercises) {
    const {element} = root.gen5Parts, host = document.querySelector("[data-gen5-practice]");
    if (!host) return;
    const why = root.gen5.missing();
    if (why) {
      host.append(element("p", {class: "gen5-none", role: "note"}, why));
      return;
    }
    const progress = new Progress(), parts = new Map();
    const count = element("p", {class: "gen5-count", role: "status"});
    const forget = element("button", {type: "button", class: "gen5-forget", onclick: () => {
      if (!confirm("Forget what you have solved and written?")) return;
      progress.done = {};
      progress.texts = {};
      progress.keep();
      for (const {play, exercise, after} of parts.values()) if (play) (play.load(exercise.text), after.replaceChildren());
      tell();
    }}, "Begin anew");
    const list = element("ol", {class: "gen5-steps"});
    // On a phone the task comes first.
    host.append(count, element("details", {open: innerWidth > 700}, element("summary", {}, "All exercises"), element("nav", {"aria-label": "Exercises"}, list), forget));

    for (const [at, exercise] of exercises.entries()) {
      const section = document.querySelector(`[data-gen5-exercise="${exercise.name}"]`);
      const link = element("a", {href: `#${exercise.name}`}, exercise.title);
      list.append(element("li", {}, link));
      parts.set(exercise.name, {at, exercise, section, link, play: null, after: element("div", {class: "gen5-after", role: "status"})});
    }
    function tell() {
      const solved = exercises.filter((e) => e.name in progress.done).length;
      count.textContent = solved === exercises.length ? `All ${solved} are solved.` : `${solved} of ${exercises.length} solved`;
      for (const {exercise, link} of parts.values()) {
        const done = exercise.name in progress.done;
        link.textContent = exercise.title + (done ? " ✓" : "");
        link.setAttribute("aria-label", exercise.title + (done ? ", solved" : ""));
      }
    }

    // What is said of a solved exercise, and where to go on.
    function success(part, verdict) {
      const next = exercises[part.at + 1];
      part.after.replaceChildren(element("div", {class: "gen5-success"}, element("strong", {}, "Solved. "), verdict.sentence, element("p", {}, part.exercise.knows),
        next ? element("p", {}, element("a", {href: `#${next.name}`}, `Next: ${next.title}`)) : element("p", {}, "That was the last one. Exercises in CUDA C++ go on from here: ", element("a", {href: "exercises.html"}, "scripts/learn"), ".")));
    }
    async function judge(part, text, ask, say) {
      part.after.replaceChildren();
      const verdict = await root.gen5Judge.judge(part.exercise, text, ask, say), answer = verdict.answer;
      if (answer.buffers) answer.buffers = answer.buffers.filter((b) => b.name === part.exercise.want.buffer).map((b) => ({...b, wrong: verdict.wrong}));
      if (verdict.right) {
        progress.done[part.exercise.name] = verdict.cycles;
        progress.keep();
        tell();
        success(part, verdict);
        return {...answer, words: "Right."};
      }
      const order = verdict.order && verdict.order.order !== "timed" ? `, in the order of completion ${root.gen5Judge.named(verdict.order)}` : "";
      return {...answer, words: `Not yet${order}: ${answer.diagnoses && answer.diagnoses.length ? `${verdict.ends}.` : verdict.sentence}`};
    }
    function build(part) {
      const {exercise, section} = part;
      const box = element("div", {});
      const file = section.querySelector(".gen5-file");
      file.replaceWith(box);
      part.play = root.gen5Playground(box, {folder, text: progress.texts[exercise.name] || exercise.text, judge: (...all) => judge(part, ...all),
        watch: {changed: (text) => ((progress.texts[exercise.name] = text), progress.keep())}});
      const again = element("button", {type: "button", onclick: () => {
        part.play.load(exercise.text);
        part.after.replaceChildren();
        delete progress.texts[exercise.name];
        progress.keep();
      }}, "As it was");
      box.querySelector(".gen5-bar").append(again);
      box.querySelector(".gen5-status").after(part.after);
    }
    function show(focus) {
      const name = location.hash.slice(1), unsolved = exercises.find((e) => !(e.name in progress.done)) || exercises[0];
      const part = parts.get(name) || parts.get(unsolved.name);
      for (const p of parts.values()) {
        p.section.hidden = p !== part;
        if (p === part) p.link.setAttribute("aria-current", "step");
        else p.link.removeAttribute("aria-current");
      }
      if (!part.play) build(part);
      if (focus && name) {
        const heading = part.section.querySelector("h2");
        heading.setAttribute("tabindex", "-1");
        heading.focus();
        heading.scrollIntoView();
      }
    }
    root.addEventListener("hashchange", () => show(true));
    tell();
    show(false);
  };
})(globalThis);

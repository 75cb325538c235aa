// The two rings of the first page, cycle by cycle, from a recorded run. Readers who want no motion see the whole run at once, and may play it.
"use strict";
(function () {
  const {end, rings} = JSON.parse(document.getElementById("ring-run").textContent);
  const play = document.querySelector(".ring-play"), LENGTH = 9000, REST = 2500;  // ms
  const panels = [...document.querySelectorAll(".ring-panel")].map((figure, i) => {
    const seen = figure.querySelector(".ring-seen"), now = figure.querySelector(".ring-now");
    const left = Number(seen.getAttribute("x")), width = Number(seen.getAttribute("width"));
    const levels = [...figure.querySelectorAll(".ring-level")], {stages, chunks, copies} = rings[i];
    const all = [...chunks, ...copies.map(([from, to]) => [from, to, Infinity, Infinity])];
    const height = Number(levels[0].getAttribute("height")), tops = levels.map((l) => Number(l.getAttribute("y")));
    return (cycle) => {
      const x = (width * cycle) / end;
      seen.setAttribute("width", x);
      now.setAttribute("transform", `translate(${x} 0)`);
      levels.forEach((level, s) => {
        // The chunk that the stage holds: the last whose copy has begun.
        const [fill, filled, read, done] = all.filter((c, n) => n % stages === s && c[0] <= cycle).pop() || [Infinity, Infinity, Infinity, Infinity];
        const share = cycle < fill || cycle >= done ? 0 : cycle < filled ? (cycle - fill) / (filled - fill) : cycle < read ? 1 : 1 - (cycle - read) / (done - read);
        level.setAttribute("class", `ring-level ${cycle < filled ? "ring-copy" : cycle < read ? "ring-held" : "ring-read"}`);
        level.setAttribute("height", height * share);
        level.setAttribute("y", tops[s] + height * (1 - share));
      });
      const count = chunks.filter((c) => c[3] <= cycle).length;
      figure.querySelector(".ring-count").textContent = `${count} chunk${count === 1 ? "" : "s"} read`;
    };
  });
  const draw = (cycle) => panels.forEach((panel) => panel(cycle));
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let running = false, at = 0, last = 0;
  function frame(time) {
    if (!running) return;
    at += Math.min(Math.max(time - last, 0), 100);  // a frame's time may lie before the click
    last = time;
    if (at > LENGTH + REST) at = 0;
    draw(end * Math.min(at / LENGTH, 1));
    requestAnimationFrame(frame);
  }
  function set(wanted) {
    running = wanted;
    play.textContent = running ? "Pause" : "Play";
    if (!running) return;
    if (at >= LENGTH) at = 0;
    last = performance.now();
    requestAnimationFrame(frame);
  }
  play.hidden = false;
  play.addEventListener("click", () => set(!running));
  at = LENGTH;
  draw(end);
  still.addEventListener("change", () => still.matches && (set(false), draw(end)));
  if (still.matches) set(false);
  else set(true);
})();

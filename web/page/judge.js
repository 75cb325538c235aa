// Judges what a reader has written for an exercise: it is right when its numbers are, in every order of completion, and nothing is diagnosed.
"use strict";
(function (root) {
  const launch = root.gen5Launch || require("./launch.js");
  const number = new Intl.NumberFormat("en");
  // As scripts/learn has them.
  const ORDERS = [{order: "timed"}, {order: "late"}, ...[1, 2, 3, 4, 5].map((seed) => ({order: "seeded", seed}))];
  const MOST_CYCLES = 1000000;  // an exercise takes a few thousand

  const named = ({order, seed}) => (seed ? `${order}, seed ${seed}` : order);

  // The first wrong element as a sentence, and all of them by their places; nothing where all are right.
  function wrongNumbers(want, buffers) {
    const got = buffers.find((b) => b.name === want.buffer).values, wrong = new Map();
    want.values.forEach((value, i) => got[i] !== value && wrong.set(i, value));
    if (!wrong.size) return null;
    const [first, value] = wrong.entries().next().value;
    const rest = wrong.size === want.values.length ? `All ${number.format(wrong.size)} elements are wrong` : `${number.format(wrong.size)} of ${number.format(want.values.length)} elements are wrong`;
    return {wrong, sentence: `${want.buffer}[${first}] is ${got[first]}, and should be ${value}. ${rest}.`};
  }

  function uses(text, opcode) {
    const code = text.replace(/\/\*.*?\*\//gs, " ").replace(/\/\/.*$/gm, " ");
    return new RegExp(`(^|[\\s;{}:])${opcode.replaceAll(".", "\\.")}[.\\s]`).test(code);
  }

  // ask(request) is answered by the machine. {"right", "ends": "right", codes, "wrong numbers", "too slow", "wrong PTX", "not run", "stopped" or
  // "another way", "sentence", "cycles" as timed, "answer": the machine's, of the run that decided it, "wrong": {place: number that it should be}}.
  async function judge(exercise, text, ask, tell = () => {}) {
    const {request} = launch.read(exercise.launch);
    let cycles = 0, answer = null;
    for (const [at, order] of ORDERS.entries()) {
      tell(`Order of completion ${at + 1} of ${ORDERS.length}: ${named(order)} …`);
      answer = await ask({...request, ...order, ptx: text, do: "run", timeline: true, registers: true, check: "races", max_cycles: MOST_CYCLES});
      const not = (ends, sentence, wrong = new Map()) => ({right: false, ends, sentence, wrong, order, answer});
      if (answer.status === "halted") return not("stopped", "Stopped.");
      if (answer.messages) return not("wrong PTX", answer.messages[0].text);
      const codes = [...new Set((answer.diagnoses || []).filter((d) => d.severity !== "note").map((d) => d.code))].sort();
      if (codes.length) return not(codes.join(", "), answer.diagnoses.find((d) => d.severity !== "note").message);
      if (answer.status !== "done") return not("not run", answer.message);
      const found = wrongNumbers(exercise.want, answer.buffers);
      if (found) return not("wrong numbers", found.sentence, found.wrong);
      if (!at) cycles = answer.cycles;
    }
    const end = (ends, sentence) => ({right: ends === "right", ends, sentence, wrong: new Map(), cycles, answer});
    if (exercise.uses && !uses(text, exercise.uses)) return end("another way", `The numbers are right, but this exercise is about ${exercise.uses}: let the kernel use it.`);
    if (exercise.budget && cycles > exercise.budget)
      return end("too slow", `The numbers are right in every order, but the kernel takes ${number.format(cycles)} cycles, and the budget is ${number.format(exercise.budget)}.`);
    return end("right", `Right in ${ORDERS.length} orders of completion, ${number.format(cycles)} cycles.`);
  }

  root.gen5Judge = {judge, named};
  if (typeof module !== "undefined") module.exports = root.gen5Judge;
})(globalThis);

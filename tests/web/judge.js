// judge.js MODULE.wasm | judge.js --native GEN5_WEB: judges texts, one a line ({"exercise", "text"}), as the page does; one verdict a line.
"use strict";
const fs = require("fs");
const path = require("path");
const readline = require("readline");
const page = path.join(__dirname, "..", "..", "web", "page");
const {judge} = require(path.join(page, "judge.js"));

let ask, end = () => {};
if (process.argv[2] === "--native") {
  const machine = require("child_process").spawn(process.argv[3], {stdio: ["pipe", "pipe", "inherit"]}), waiting = [];
  readline.createInterface({input: machine.stdout}).on("line", (line) => waiting.shift()(JSON.parse(line)));
  ask = (request) => new Promise((done) => (waiting.push(done), machine.stdin.write(JSON.stringify(request) + "\n")));
  end = () => machine.stdin.end();
} else {
  const {Answering} = require(path.join(page, "machine.js"));
  const answering = new Answering(new WebAssembly.Module(fs.readFileSync(process.argv[2])));
  ask = async (request) => answering.answer(request);
}
let last = Promise.resolve();
const lines = readline.createInterface({input: process.stdin});
lines.on("close", () => last.then(end));
lines.on("line", (line) => {
  const {exercise, text} = JSON.parse(line);
  last = last.then(() => judge(exercise, text, ask)).then(({ends, sentence, cycles, order}) => process.stdout.write(JSON.stringify({ends, sentence, cycles, order}) + "\n"));
});

// node.js MODULE.wasm: answers requests, one a line, as gen5_web does (web/machine/native.cpp).
"use strict";
const fs = require("fs");
const path = require("path");
const {Answering} = require(path.join(__dirname, "machine.js"));

const answering = new Answering(new WebAssembly.Module(fs.readFileSync(process.argv[2])));
const lines = require("readline").createInterface({input: process.stdin});
lines.on("line", (line) => {
  let request;
  try {
    request = JSON.parse(line);
  } catch {
    request = {};
  }
  process.stdout.write(JSON.stringify(answering.answer(request)) + "\n");
});

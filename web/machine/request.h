// What a page asks of the machine, and what it gets: JSON both ways. Native programs answer the same, so that a test
// compares them.
#pragma once
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace tinygpu::web {

using Json = nlohmann::ordered_json;

/// A request that makes no sense; the sentence says what to write.
struct WrongRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Answers one request; whatever it holds, with an object, never an exception. {"do": …}
///
/// "run": {"ptx", "machine": "b200", "kernel": the first if "", "grid": [x, y, z], "block", "cluster": null, "shared":
/// bytes of dynamic shared memory, "buffers": [{"name", "type", "count", "pattern" (buffers.h, or
/// "words", a list of numbers as text), "bytes": false}], "parameters":
/// [PARAMETER], "order": "timed|late|seeded", "seed", "check": "quick|races", "tmem_checks": "warn|strict",
/// "memory_check": false, "max_cycles", "stop_at": a cycle, after which the machine is shown and left; 0: none}.
/// Of a launch that GEN5_CAPTURE has written also {"memory", "variables" (recorded.h), "packed": all parameters,
/// base64, in place of "parameters", "sources": {file: text}, for names of mbarriers}. "timeline": true asks for
/// pictures, "registers": true for what the first warp has written.
///   PARAMETER: {"buffer": its number}, {"value": number, "type"}, {"map": {"of": a buffer's number, "dims", "box",
///   "swizzle": bytes}} (a tensor map, of its type), or {"struct": [PARAMETER with "at": its offset]}.
///   {"status": "done|stopped|fault|refused|invalid", "message", "cycles", "instructions", "kernel", "counters",
///    "diagnoses": [{"code", "severity", "message", "help", "rule", "place", "label", "others", "text"}], "output",
///    "buffers": [{"name", "type", "count", "values": first ones as numbers, "before": of these that have changed
///    [[which, number]], "bytes": base64 if asked for, "digest"}], "regions": [{"name", "type", "size", "changed":
///    bytes, "begin", "bytes": base64 from there on, "digest"}] of "memory", "timeline": as a report has it
///    (observe/report/timeline_json.h), "moments": moments.h, "clock_ghz", "written": written.h, "seen": where a fault
///    or "stop_at" has left warps, registers, memories}.
///
/// "check": {"ptx"}: {"messages": [{"line", "column", "text", "help"}], "kernels": [{"name", "parameters": [{"name",
/// "type", "bytes"}]}]}.
///
/// "explain": {"instruction", "target", "version"}: {"text", "legal"}; {"code"}: {"text"}.
///
/// "forms": {"samples": false}: {"opcodes": {name: [its modifiers]}, for completion, "samples": [PTX of a kernel of one
/// form]}.
Json answer(const Json& request);
std::string answer(const std::string& request);

}  // namespace tinygpu::web

#include "common/tinygpu/diagnosis/place_json.h"

#include <nlohmann/json.hpp>

namespace tinygpu::diagnosis {

using Json = nlohmann::ordered_json;

Json place_json(const Where& w) {
  Json p = Json::object();
  if (!w.kernel.empty()) p["kernel"] = w.kernel;
  if (w.cta[0] >= 0) p["cta"] = {w.cta[0], w.cta[1], w.cta[2]};
  if (w.thread >= 0) p["thread"] = w.thread;
  if (w.warp >= 0) p["warp"] = w.warp;
  if (!w.operation.empty()) p["operation"] = w.operation;
  if (w.cycle >= 0) p["cycle"] = w.cycle;
  if (w.ptx_line > 0) {
    p["ptxLine"] = w.ptx_line;
    p["ptx"] = w.ptx_text;
  }
  if (!w.cuda_file.empty()) {
    p["file"] = w.cuda_file;
    p["line"] = w.cuda_line;
    p["column"] = w.cuda_column;
  }
  for (const InlinedPlace& i : w.inlined)
    p["inlined"].push_back({{"function", i.function}, {"file", i.file}, {"line", i.line}, {"column", i.column}});
  return p;
}

Where place_of_json(const Json& p) {
  Where w;
  w.kernel = p.value("kernel", "");
  if (p.contains("cta"))
    for (size_t i = 0; i < 3; ++i) w.cta[i] = p.at("cta").at(i).get<int>();
  w.thread = p.value("thread", -1);
  w.warp = p.value("warp", -1);
  w.operation = p.value("operation", "");
  w.cycle = p.value("cycle", int64_t{-1});
  w.ptx_line = p.value("ptxLine", 0);
  w.ptx_text = p.value("ptx", "");
  w.cuda_file = p.value("file", "");
  w.cuda_line = p.value("line", 0);
  w.cuda_column = p.value("column", 0);
  for (const Json& i : p.value("inlined", Json::array()))
    w.inlined.push_back({i.value("file", ""), i.value("line", 0), i.value("column", 0), i.value("function", "")});
  return w;
}

}  // namespace tinygpu::diagnosis

#include "common/tinygpu/debug/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "common/tinygpu/base/halves.h"
#include "common/tinygpu/base/lane_ranges.h"
#include "common/tinygpu/base/readable_name.h"

namespace tinygpu::debug {
namespace {

/// "mbarrier full[1] (0x408)", "mbarrier 0x408".
std::string mbarrier_of(const Json& view) {
  const std::string name = view.value("name", "");
  const uint32_t offset = view.at("offset");
  return name.empty() ? fmt::format("mbarrier {:#x}", offset) : fmt::format("mbarrier {} ({:#x})", name, offset);
}

std::string text_of(const Json& cta) {
  return fmt::format("({},{},{})", cta[0].get<int>(), cta[1].get<int>(), cta[2].get<int>());
}

}  // namespace

std::string number(int64_t n) {
  std::string out = std::to_string(n < 0 ? -n : n);
  for (int at = int(out.size()) - 3; at > 0; at -= 3) out.insert(size_t(at), ",");
  return (n < 0 ? "-" : "") + out;
}

std::string formatted(const Json& word, const std::string& format) {
  if (word.is_null()) return "-";
  if (word.is_string()) return word;
  const uint64_t bits = word;
  if (format == "x") return fmt::format("{:#x}", bits);
  if (format == "f") return fmt::format("{}", std::bit_cast<float>(uint32_t(bits)));
  if (format == "d") return fmt::format("{}", std::bit_cast<double>(bits));
  if (format == "h") return fmt::format("{} {}", value(f16(uint16_t(bits))), value(f16(uint16_t(bits >> 16))));
  if (format == "bf") return fmt::format("{} {}", value(bf16(uint16_t(bits))), value(bf16(uint16_t(bits >> 16))));
  return fmt::format("{}", bits);
}

std::string text_by_lane(const std::array<std::string, 32>& values, uint32_t lanes) {
  std::string out;
  size_t width = 12;
  for (size_t k = 0; k < 32; ++k)
    if (lanes >> k & 1) width = std::max(width, values[k].size());
  for (size_t k = 0; k < 32; ++k) {
    if (k % 8 == 0) out += fmt::format("\n  {:>2}:", k);
    out += fmt::format(" {:>{}}", lanes >> k & 1 ? values[k] : ".", width);
  }
  return out + "\n";
}

std::string around(Sources& sources, const std::string& file, int at, int lines) {
  std::string out;
  for (int n = std::max(1, at - lines); n <= at + lines; ++n)
    if (const auto line = sources.line(file, n)) out += fmt::format("{} {:>5}  {}\n", n == at ? "->" : "  ", n, *line);
  return out;
}

std::string text_of_focus(const Json& f) {
  const Json& name = f.at("name");
  std::string out = fmt::format("CTA {}, warp {}, lanes {}", text_of(name.at("cta")), name.at("warp").get<int>(),
                                lane_ranges(f.at("lanes")));
  if (f.contains("place") && f["place"].contains("cycle"))
    out += fmt::format(", at cycle {}", number(f["place"]["cycle"]));
  if (f.contains("waits_for")) out += fmt::format(", waits for {}", f["waits_for"].get<std::string>());
  return out;
}

std::string text_of_place(const Json& p, Sources& sources) {
  std::string out;
  const std::string file = p.value("file", "");
  const int line = p.value("line", 0);
  if (line) out += fmt::format("{}:{}  {}\n", file, line, sources.line(file, line).value_or(""));
  return out + fmt::format("ptx line {}: {}\n", p.value("ptx_line", 0), p.value("ptx", ""));
}

std::string text_of_frames(const Json& view, Sources& sources) {
  std::string out = text_of_focus(view.at("focus")) + "\n";
  size_t n = 0;
  for (const Json& f : view.at("frames")) {
    const std::string file = f.value("file", ""), function = f.value("function", "");
    const bool kernel = n + 1 == view["frames"].size();
    out += fmt::format("#{} {}{}", n++, kernel ? kernel_label(function) : short_name(function),
                       f.value("inlined", false) ? " (inlined below)" : "");
    if (f.value("line", 0)) {
      out += fmt::format(" at {}:{}\n", file, f["line"].get<int>());
      if (const auto text = sources.line(file, f["line"])) out += fmt::format("     {}\n", *text);
    } else {
      out += fmt::format(" at ptx line {}: {}\n", f.value("ptx_line", 0), f.value("ptx", ""));
    }
  }
  return out;
}

std::string text_of_warps(const Json& view) {
  std::string out;
  for (const Json& w : view.at("warps")) {
    out += text_of_focus(w);
    if (w.contains("place")) {
      const Json& p = w["place"];
      out += p.value("line", 0) ? fmt::format("\n    {}:{}", p.value("file", ""), p["line"].get<int>())
                                : fmt::format("\n    ptx line {}", p.value("ptx_line", 0));
      out += "  " + p.value("ptx", "");
    }
    out += "\n";
  }
  const size_t count = view.at("count");
  if (!count) return "no warp is resident\n";
  return out + fmt::format("{} warp{} resident\n", number(int64_t(count)), count == 1 ? " is" : "s are");
}

std::string text_of_registers(const Json& view, int lane, const std::string& format) {
  std::string out;
  for (const Json& r : view.at("registers")) {
    const Json& values = r.at("values");
    const uint32_t lanes = r.at("lanes");
    out += fmt::format("{} .{}", r.at("name").get<std::string>(), r.at("type").get<std::string>());
    if (lane >= 0) {
      out += fmt::format(" = {}\n", formatted(values.at(size_t(lane)), format));
      continue;
    }
    bool uniform = true;
    const Json* first = nullptr;
    for (size_t k = 0; k < 32; ++k)
      if (lanes >> k & 1) {
        if (first) uniform &= values[k] == *first;
        if (!first) first = &values[k];
      }
    if (uniform && first) {
      out += fmt::format(" = {} in all lanes\n", formatted(*first, format));
      continue;
    }
    std::array<std::string, 32> texts;
    for (size_t k = 0; k < 32; ++k) texts[k] = formatted(values[k], format);
    out += text_by_lane(texts, lanes);
  }
  return out;
}

std::string text_of_barriers(const Json& view) {
  std::string out;
  for (const Json& b : view.at("barriers")) {
    out += fmt::format("CTA {}  ", text_of(b.at("cta")));
    if (b.contains("offset"))
      out += fmt::format("{}: phase {} (parity {}), {} of {} arrivals missing, {} bytes outstanding\n", mbarrier_of(b),
                         b["phase"].get<uint64_t>(), b["parity"].get<int>(), b["pending"].get<uint32_t>(),
                         b["expected"].get<uint32_t>(), b["bytes"].get<int64_t>());
    else
      out += fmt::format("barrier {}: {} of {} threads have arrived\n", b["barrier"].get<int>(),
                         b["arrived"].get<uint32_t>(), b["expected"].get<uint32_t>());
  }
  return out.empty() ? "no mbarrier is initialised, and no thread waits at a barrier\n" : out;
}

std::string text_of_operations(const Json& view) {
  std::string out;
  for (const Json& o : view.at("operations")) {
    const Json& by = o.at("by");
    out += fmt::format("{} of CTA {}, warp {}, on SM {}: issued at {}", o.at("kind").get<std::string>(),
                       text_of(by.at("cta")), by.value("warp", 0), o.value("sm", 0), number(o.at("issued")));
    if (o.contains("begins")) out += fmt::format(", the unit takes it up at {}", number(o["begins"]));
    if (o.contains("done")) out += fmt::format(", done at {}", number(o["done"]));
    if (o.value("bytes", 0)) out += fmt::format(", {} bytes", number(o["bytes"]));
    if (by.value("line", 0)) out += fmt::format("\n    issued by {}:{}", by.value("file", ""), by["line"].get<int>());
    for (const auto& [key, what] : {std::pair("reads_shared", "reads"), std::pair("writes_shared", "writes")})
      for (const Json& r : o.value(key, Json::array())) {
        out += fmt::format("\n    {} shared {:#x} to {:#x} of CTA {}", what, r["begin"].get<uint32_t>(),
                           r["end"].get<uint32_t>(), text_of(r["cta"]));
        if (r.contains("signals")) out += ", then completes the bytes on " + mbarrier_of(r["signals"]);
      }
    for (const auto& [key, what] : {std::pair("reads_tmem", "reads"), std::pair("writes_tmem", "writes")})
      for (const Json& r : o.value(key, Json::array()))
        out += fmt::format("\n    {} Tensor Memory lanes {} to {}, columns {} to {} ({})", what, r["lane"].get<int>(),
                           r["lane"].get<int>() + r["lanes"].get<int>() - 1, r["column"].get<int>(),
                           r["column"].get<int>() + r["columns"].get<int>() - 1, r["what"].get<std::string>());
    out += "\n";
  }
  return out.empty() ? "nothing is in flight\n" : out;
}

std::string text_of_tensor_memory(const Json& view, const std::string& format) {
  std::string out = fmt::format("Tensor Memory of SM {}\n", view.at("sm").get<int>());
  for (const Json& a : view.at("allocations"))
    out += fmt::format("  columns {} to {}: CTA {}\n", a["first"].get<int>(),
                       a["first"].get<int>() + a["columns"].get<int>() - 1, text_of(a["cta"]));
  if (view["allocations"].empty()) out += "  no columns are allocated\n";
  if (!view.contains("rows")) return out;
  const int column = view["column"];
  int lane = view["lane"];
  out += "  lane";
  for (size_t k = 0; k < view["rows"][0].size(); ++k)
    out += fmt::format(" {:>12}", fmt::format("col {}", column + int(k)));
  out += "\n";
  for (const Json& row : view["rows"]) {
    out += fmt::format("  {:>4}", lane++);
    for (const Json& value : row) out += fmt::format(" {:>12}", formatted(value, format.empty() ? "x" : format));
    out += "\n";
  }
  return out + "  (-: not written since the allocation)\n";
}

std::string text_of_tile(const Json& view) {
  std::string out = view.at("title").get<std::string>() + "\n";
  const uint32_t row = view["row"], column = view["column"];
  size_t width = 4;
  for (const Json& r : view["rows"])
    for (const Json& v : r) width = std::max(width, v.is_null() ? size_t(1) : v.get_ref<const std::string&>().size());
  const auto head = [](const Json& name, size_t n) { return fmt::format("{} {}", name.get<std::string>(), n); };
  const size_t columns = view["rows"].at(0).size();
  for (size_t c = 0; c < columns; ++c) width = std::max(width, head(view["column_name"], column + c).size());
  out += fmt::format("  {:>8}", "");
  for (size_t c = 0; c < columns; ++c) out += fmt::format(" {:>{}}", head(view["column_name"], column + c), width);
  out += "\n";
  bool gaps = false;
  for (size_t r = 0; r < view["rows"].size(); ++r) {
    out += fmt::format("  {:>8}", head(view["row_name"], row + r));
    for (const Json& v : view["rows"][r]) {
      out += fmt::format(" {:>{}}", v.is_null() ? "-" : v.get<std::string>(), width);
      gaps |= v.is_null();
    }
    out += "\n";
  }
  return out + (gaps ? fmt::format("  (-: {})\n", view.value("gap", "not written since the allocation")) : "");
}

std::string text_of_bytes(const Json& view) {
  const std::string hex = view.at("bytes");
  const uint64_t begin = view.at("begin");
  std::string out;
  for (size_t at = 0; at < hex.size(); at += 32) {
    out += fmt::format("{:#08x} ", begin + at / 2);
    for (size_t k = at; k < std::min(at + 32, hex.size()); k += 2)
      out += (k % 8 ? "" : " ") + hex.substr(k, 2) + (k % 8 == 6 ? "" : " ");
    out += "\n";
  }
  return out;
}

std::string text_of_waits(const Json& view, Sources& sources) {
  std::string out;
  for (const Json& w : view.at("waits")) {
    const Json& p = w.at("place");
    if (p.contains("cta")) out += fmt::format("CTA {}, warp {}: ", text_of(p["cta"]), p.value("warp", -1));
    out += w.at("waits").get<std::string>() + "\n";
    if (p.value("line", 0))
      out += fmt::format("    {}:{}  {}\n", p.value("file", ""), p["line"].get<int>(),
                         sources.line(p["file"], p["line"]).value_or(""));
  }
  return out.empty() ? "no lanes wait\n" : out;
}

}  // namespace tinygpu::debug

#include "common/tinygpu/debug/html_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <vector>

#include "common/tinygpu/debug/print.h"
#include "common/tinygpu/observe/report/html.h"
#include "common/tinygpu/observe/report/page.h"

namespace tinygpu::debug {
namespace {

using observe::html;

std::string cta_of(const Json& cta) {
  return fmt::format("({},{},{})", cta[0].get<int>(), cta[1].get<int>(), cta[2].get<int>());
}

/// `heads`: text; a leading '#' makes a column of numbers.
std::string table(const std::string& caption, const std::vector<std::string>& heads,
                  const std::vector<std::vector<std::string>>& rows) {
  std::string out = fmt::format(R"(<div class="scroll"><table><caption>{}</caption><thead><tr>)", html(caption));
  for (const std::string& h : heads)
    out += h.starts_with('#') ? fmt::format(R"(<th scope="col" class="n">{}</th>)", html(h.substr(1)))
                              : fmt::format(R"(<th scope="col">{}</th>)", html(h));
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (size_t k = 0; k < row.size(); ++k)
      out += fmt::format("<td{}>{}</td>", heads[k].starts_with('#') ? R"( class="n")" : "", html(row[k]));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string section(const std::string& name, const std::string& body) {
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", html(name), body);
}

std::string named_mbarrier(const Json& b) {
  const std::string name = b.value("name", "");
  const std::string at = fmt::format("{:#x}", b.at("offset").get<uint32_t>());
  return name.empty() ? at : fmt::format("{} ({})", name, at);
}

/// "reads shared 0x400 to 0x800; signals full[0] (0x1400)": a list, one for each range.
std::string uses_of(const Json& operation) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  for (const auto& [key, what] : {std::pair("reads_shared", "reads"), std::pair("writes_shared", "writes")})
    for (const Json& r : operation.value(key, Json::array())) {
      add(fmt::format("{} shared {:#x} to {:#x} of CTA {}", what, r["begin"].get<uint32_t>(), r["end"].get<uint32_t>(),
                      cta_of(r["cta"])));
      if (r.contains("signals")) out += ", then signals " + named_mbarrier(r["signals"]);
    }
  for (const auto& [key, what] : {std::pair("reads_tmem", "reads"), std::pair("writes_tmem", "writes")})
    for (const Json& r : operation.value(key, Json::array()))
      add(fmt::format("{} Tensor Memory lanes {} to {}, columns {} to {}", what, r["lane"].get<int>(),
                      r["lane"].get<int>() + r["lanes"].get<int>() - 1, r["column"].get<int>(),
                      r["column"].get<int>() + r["columns"].get<int>() - 1));
  return out;
}

std::optional<double> number_in(const Json& cell) {
  if (!cell.is_string()) return {};
  const std::string& text = cell.get_ref<const std::string&>();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return std::abs(value);
}

}  // namespace

std::string html_of_barriers(const Json& view) {
  std::vector<std::vector<std::string>> rows, named;
  for (const Json& b : view.at("barriers"))
    if (b.contains("offset"))
      rows.push_back({cta_of(b["cta"]), named_mbarrier(b), number(b["phase"].get<int64_t>()),
                      std::to_string(b["parity"].get<int>()),
                      fmt::format("{} of {}", b["pending"].get<uint32_t>(), b["expected"].get<uint32_t>()),
                      number(b["bytes"].get<int64_t>())});
    else
      named.push_back({cta_of(b["cta"]), std::to_string(b["barrier"].get<int>()),
                       fmt::format("{} of {}", b["arrived"].get<uint32_t>(), b["expected"].get<uint32_t>())});
  std::string body;
  if (!rows.empty())
    body += table("mbarriers of the cluster",
                  {"CTA", "mbarrier", "#phase", "#parity", "#arrivals missing", "#bytes outstanding"}, rows);
  if (!named.empty())
    body += table("barriers at which threads wait", {"CTA", "#barrier", "#threads that have arrived"}, named);
  if (body.empty()) body = "<p>No mbarrier is initialised, and no thread waits at a barrier.</p>\n";
  return section("mbarriers and barriers", body);
}

std::string html_of_operations(const Json& view) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& o : view.at("operations")) {
    const Json& by = o.at("by");
    rows.push_back({o.at("kind"), fmt::format("CTA {}, warp {}", cta_of(by.at("cta")), by.value("warp", 0)),
                    by.value("line", 0) ? fmt::format("{}:{}", by.value("file", ""), by["line"].get<int>())
                                        : fmt::format("ptx line {}", by.value("ptx_line", 0)),
                    number(o.at("issued")), o.contains("begins") ? number(o["begins"]) : "",
                    o.contains("done") ? number(o["done"]) : "", o.value("bytes", 0) ? number(o["bytes"]) : "",
                    uses_of(o)});
  }
  return section(
      "In flight",
      rows.empty()
          ? "<p>Nothing is in flight.</p>\n"
          : table("asynchronous operations of this grid, times in cycles since it began",
                  {"operation", "issued by", "at", "#issued", "#begins", "#done", "#bytes", "what it touches"}, rows));
}

std::string html_of_tensor_memory(const Json& view, const Json& operations) {
  constexpr int kColumns = 512, kLanes = 128, kScale = 2, kPartition = 32, kColours = 8;
  std::string out = fmt::format(
      R"(<div class="scroll"><svg role="img" aria-label="Tensor Memory: lanes downwards, columns to the right" width="{}" height="{}" viewBox="-40 -20 {} {}">)"
      "\n",
      kColumns * kScale + 60, kLanes * kScale + 50, kColumns * kScale + 60, kLanes * kScale + 50);
  const auto rect = [&](int column, int lane, int columns, int lanes, const std::string& style,
                        const std::string& what) {
    out += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" style="{}"><title>{}</title></rect>)"
                       "\n",
                       column * kScale, lane * kScale, columns * kScale, lanes * kScale, style, html(what));
  };
  rect(0, 0, kColumns, kLanes, "fill:var(--panel);stroke:var(--line)", "not allocated");
  std::vector<std::vector<std::string>> rows;
  int colour = 0;
  for (const Json& a : view.at("allocations")) {
    const int first = a["first"], columns = a["columns"];
    const std::string what = fmt::format("columns {} to {}: CTA {}", first, first + columns - 1, cta_of(a["cta"]));
    rect(first, 0, columns, kLanes, fmt::format("fill:var(--b{});stroke:var(--dim)", colour++ % kColours), what);
    int written = 0;
    for (int c = first; c < first + columns; ++c)
      for (int p = 0; p < kLanes / kPartition; ++p) {
        const int cells = view.at("map").at(size_t(c)).at(size_t(p));
        written += cells;
        if (cells)
          rect(c, p * kPartition, 1, kPartition,
               fmt::format("fill:var(--text);opacity:{:.2f}", 0.35 * cells / kPartition),
               fmt::format("column {}, lanes {} to {}: {} of 32 cells written", c, p * kPartition,
                           p * kPartition + kPartition - 1, cells));
      }
    rows.push_back({fmt::format("{} to {}", first, first + columns - 1), cta_of(a["cta"]),
                    fmt::format("{} of {}", number(written), number(int64_t(columns) * kLanes))});
  }
  for (const Json& o : operations.value("operations", Json::array()))
    for (const char* key : {"reads_tmem", "writes_tmem"})
      for (const Json& r : o.value(key, Json::array()))
        rect(r["column"], r["lane"], r["columns"], r["lanes"],
             fmt::format("fill:none;stroke:var(--{});stroke-width:2", key[0] == 'w' ? "error" : "link"),
             fmt::format("{} that is under way {} these cells", o.at("kind").get<std::string>(),
                         key[0] == 'w' ? "writes" : "reads"));
  for (int c = 0; c <= kColumns; c += 64)
    out += fmt::format("<text x=\"{}\" y=\"-6\" text-anchor=\"middle\">{}</text>", c * kScale, c);
  for (int lane = 0; lane <= kLanes; lane += kPartition)
    out += fmt::format("<text x=\"-6\" y=\"{}\" text-anchor=\"end\">{}</text>", lane * kScale + 4, lane);
  out +=
      "\n</svg></div>\n<p class=\"dim\">Colours: who has allocated the columns. Darker: cells that have been written. "
      "Frames: what operations under way write and read.</p>\n";
  out += rows.empty() ? "<p>No columns are allocated.</p>\n"
                      : table("allocations", {"columns", "CTA", "#cells written"}, rows);
  return section(fmt::format("Tensor Memory of SM {}", view.at("sm").get<int>()), out);
}

std::string html_of_tile(const Json& view) {
  double most = 0;
  for (const Json& row : view.at("rows"))
    for (const Json& cell : row) most = std::max(most, number_in(cell).value_or(0));
  std::string out = fmt::format("<p>{}</p>\n<div class=\"scroll\"><table><thead><tr><th></th>",
                                html(view.at("title").get<std::string>()));
  const auto head = [](const Json& name, uint64_t n) { return html(fmt::format("{} {}", name.get<std::string>(), n)); };
  const uint64_t first_row = view.at("row"), first_column = view.at("column");
  for (size_t c = 0; c < view["rows"].at(0).size(); ++c)
    out += fmt::format(R"(<th scope="col" class="n">{}</th>)", head(view["column_name"], first_column + c));
  out += "</tr></thead><tbody>\n";
  for (size_t r = 0; r < view["rows"].size(); ++r) {
    out += fmt::format(R"(<tr><th scope="row" class="n">{}</th>)", head(view["row_name"], first_row + r));
    for (const Json& cell : view["rows"][r]) {
      const auto value = number_in(cell);
      const int share = value && most > 0 ? int(std::lround(100 * *value / most)) : 0;
      out += fmt::format(
          "<td class=\"n\"{}>{}</td>",
          share ? fmt::format(" style=\"background:color-mix(in srgb, var(--heat) {}%, transparent)\"", share) : "",
          cell.is_null() ? "–" : html(cell.get<std::string>()));
    }
    out += "</tr>\n";
  }
  return section("Matrix", out + "</tbody></table></div>\n");
}

std::string html_page(const std::string& title, const std::string& place, const std::string& body) {
  std::ostringstream out;
  observe::write_still_page(out, title, fmt::format("<pre>{}</pre>\n{}", html(place), body));
  return out.str();
}

}  // namespace tinygpu::debug

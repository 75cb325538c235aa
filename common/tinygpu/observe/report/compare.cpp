#include "common/tinygpu/observe/report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "common/tinygpu/observe/report/align_lines.h"
#include "common/tinygpu/observe/report/html.h"
#include "common/tinygpu/observe/report/saved_report.h"

namespace tinygpu::observe {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLinesCompared = 20, kWaitsCompared = 12;
/// Smaller differences of shares are not shown among waits.
constexpr double kWaitPoints = 0.01;

double number_in(const Json& j, const char* key) {
  const auto v = j.find(key);
  return v == j.end() ? 0 : v->get<double>();
}

double number_in(const Json& j, const char* key, const char* inner) {
  const auto v = j.find(key);
  return v == j.end() ? 0 : number_in(*v, inner);
}

std::string text_in(const Json& j, const char* key) { return j.value(key, std::string()); }

Change::Mark mark_of(double before, double after) {
  return before == after ? Change::Mark::same : after < before ? Change::Mark::less : Change::Mark::more;
}

std::string relative(double before, double after) {
  if (before == after) return "same";
  if (before == 0) return "new";
  return fmt::format("{}{:.1f} %", after < before ? "−" : "+", 100 * std::abs(after - before) / before);
}

Change count(const char* name, double before, double after) {
  return {mark_of(before, after), name, thousands(uint64_t(before)), thousands(uint64_t(after)),
          relative(before, after)};
}

Change decimal(const char* name, double before, double after) {
  return {mark_of(before, after), name, fmt::format("{:.2f}", before), fmt::format("{:.2f}", after),
          relative(before, after)};
}

/// Of shares from 0 to 1.
Change points(const std::string& name, double before, double after) {
  const double difference = 100 * (after - before);
  const std::string text = std::abs(difference) < 0.05
                               ? "same"
                               : fmt::format("{}{:.1f} points", difference < 0 ? "−" : "+", std::abs(difference));
  return {std::abs(difference) < 0.05 ? Change::Mark::same : mark_of(before, after), name,
          fmt::format("{:.1f} %", 100 * before), fmt::format("{:.1f} %", 100 * after), text};
}

Change words(const char* name, const std::string& before, const std::string& after) {
  return {before == after ? Change::Mark::same : Change::Mark::other, name, before, after, ""};
}

std::vector<Change> times_of(const Json& a, const Json& b) {
  const Json none = Json::object();
  const Json &va = a.contains("verdict") ? a["verdict"] : none, &vb = b.contains("verdict") ? b["verdict"] : none;
  std::vector<Change> out = {
      count("Cycles", number_in(a, "cycles"), number_in(b, "cycles")),
      decimal("Time, µs", 1e6 * number_in(a, "seconds", "cold"), 1e6 * number_in(b, "seconds", "cold")),
      decimal("Time in a loop, µs", 1e6 * number_in(a, "seconds", "sustained"),
              1e6 * number_in(b, "seconds", "sustained")),
      words("Limited by", text_in(va, "limit"), text_in(vb, "limit")),
      words("At line", text_in(va, "at"), text_in(vb, "at")),
  };
  if (a.value("launches", 1) != b.value("launches", 1))
    out.push_back(count("Launches", number_in(a, "launches"), number_in(b, "launches")));
  return out;
}

/// Shares of the tensor cores' time by cause.
std::map<std::string, double> idle_of(const Json& profile) {
  std::map<std::string, double> out;
  if (const auto t = profile.find("tensor_core"); t != profile.end() && t->contains("idle"))
    for (const Json& i : t->at("idle")) out[i.at("for")] = i.at("share");
  return out;
}

std::vector<Change> units_of(const Json& a, const Json& b) {
  std::vector<Change> out;
  if (a.contains("tensor_core") || b.contains("tensor_core")) {
    out.push_back(
        points("Tensor cores busy", number_in(a, "tensor_core", "busy"), number_in(b, "tensor_core", "busy")));
    std::map<std::string, double> before = idle_of(a), after = idle_of(b);
    std::set<std::string> causes;
    for (const auto& [cause, share] : before) causes.insert(cause);
    for (const auto& [cause, share] : after) causes.insert(cause);
    for (const std::string& cause : causes)
      out.push_back(points("Tensor cores idle: " + cause, before[cause], after[cause]));
  }
  out.push_back(points("TMA busy", number_in(a, "tma_busy"), number_in(b, "tma_busy")));
  const std::pair<const char*, const char*> memory[] = {
      {"L2, bytes", "l2_bytes"},
      {"Device memory, bytes", "device_bytes"},
      {"Shared memory, bytes", "shared_bytes"},
      {"Passes of the banks", "bank_passes"},
  };
  for (const auto& [name, key] : memory)
    out.push_back(count(name, number_in(a, "memory", key), number_in(b, "memory", key)));
  const auto conflicts = [](const Json& p) {
    return number_in(p, "memory", "bank_passes") - number_in(p, "memory", "bank_passes_without_conflicts");
  };
  out.push_back(count("of them for bank conflicts", conflicts(a), conflicts(b)));
  out.push_back(count("Warp instructions", number_in(a, "instructions"), number_in(b, "instructions")));
  out.push_back(count("CTAs", number_in(a, "ctas"), number_in(b, "ctas")));
  out.push_back(count("SMs with a CTA", number_in(a, "sms"), number_in(b, "sms")));
  out.push_back(count("CTAs on an SM", number_in(a, "ctas_per_sm"), number_in(b, "ctas_per_sm")));
  out.push_back(decimal("Waves", number_in(a, "waves"), number_in(b, "waves")));
  return out;
}

/// What the warps of each role did, in shares of their time: "MMA: waiting for mbarrier full[0]".
std::map<std::string, double> shares_of_roles(const Json& profile) {
  std::map<std::string, double> out;
  if (!profile.contains("roles")) return out;
  for (const Json& r : profile["roles"]) {
    const double all = number_in(r, "cycles");
    if (all <= 0) continue;
    const std::string role = r.at("role").get<std::string>() + ": ";
    out[role + "issuing"] += number_in(r, "issuing") / all;
    out[role + "waiting for operands"] += number_in(r, "operands") / all;
    out[role + "waiting for the issue port"] += number_in(r, "port") / all;
    if (r.contains("waits"))
      for (const Json& w : r["waits"])
        out[role + "waiting for " + w.at("for").get<std::string>()] += number_in(w, "cycles") / all;
  }
  return out;
}

std::vector<Change> waits_of(const Json& a, const Json& b) {
  const std::map<std::string, double> before = shares_of_roles(a), after = shares_of_roles(b);
  struct Row {
    std::string name;
    double before, after;
    double difference() const { return std::abs(after - before); }
  };
  std::vector<Row> rows;
  const auto share_in = [](const auto& map, const std::string& name) {
    const auto it = map.find(name);
    return it == map.end() ? 0.0 : it->second;
  };
  for (const auto& [name, share] : before) rows.push_back({name, share, share_in(after, name)});
  for (const auto& [name, share] : after)
    if (!before.contains(name)) rows.push_back({name, 0, share});
  std::erase_if(rows, [](const Row& r) { return r.difference() < kWaitPoints; });
  std::ranges::stable_sort(rows, std::greater(), &Row::difference);
  rows.resize(std::min(rows.size(), kWaitsCompared));
  std::vector<Change> out;
  for (const Row& r : rows) out.push_back(points(r.name, r.before, r.after));
  return out;
}

uint64_t cycles_of(const Json& line) {
  double sum = number_in(line, "issuing") + number_in(line, "operands") + number_in(line, "port");
  if (line.contains("waits"))
    for (const auto& [what, cycles] : line["waits"].items()) sum += cycles.get<double>();
  return uint64_t(sum);
}

struct Line {
  SourceLine where;  // the file is empty for PTX
  std::string at, text;
  uint64_t cycles = 0;
};

std::vector<Line> lines_of(const Json& kernel) {
  std::map<SourceLine, std::string> texts;
  if (kernel.contains("source"))
    for (const Json& file : kernel["source"])
      for (const Json& line : file.at("lines"))
        texts[{file.at("file").get<std::string>(), line.at(0).get<int>()}] = line.at(1).get<std::string>();
  std::vector<Line> out;
  const Json& profile = kernel.at("profile");
  if (!profile.contains("lines")) return out;
  for (const Json& l : profile["lines"]) {
    Line line{{text_in(l, "file"), l.at("line").get<int>()}, l.at("at"), text_in(l, "ptx"), cycles_of(l)};
    if (const auto text = texts.find(line.where); text != texts.end()) line.text = text->second;
    line.text.erase(0, line.text.find_first_not_of(" \t"));
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<LineChange> line_changes(const Json& a, const Json& b) {
  const Json none = Json::array();
  const auto partner =
      align_lines(a.contains("source") ? a["source"] : none, b.contains("source") ? b["source"] : none);
  std::vector<Line> after = lines_of(b);
  std::vector<LineChange> out;
  for (const Line& l : lines_of(a)) {
    const auto wanted = partner.find(l.where);
    // Without source a line is the one with its number and, in PTX, its text.
    const auto found = std::ranges::find_if(after, [&](const Line& o) {
      return wanted != partner.end() ? o.where == wanted->second
                                     : o.at == l.at && o.text == l.text && (l.where.first.empty() || l.text.empty());
    });
    LineChange c{l.at, "", l.text, l.cycles, 0};
    if (found != after.end()) {
      c.after_at = found->at;
      c.after = found->cycles;
      if (!found->text.empty()) c.text = found->text;
      after.erase(found);
    }
    out.push_back(std::move(c));
  }
  for (const Line& l : after) out.push_back({"", l.at, l.text, 0, l.cycles});
  std::erase_if(out, [](const LineChange& c) { return c.before == c.after; });
  const auto difference = [](const LineChange& c) { return std::abs(double(c.after) - double(c.before)); };
  std::ranges::stable_sort(out, std::greater(), difference);
  out.resize(std::min(out.size(), kLinesCompared));
  return out;
}

std::string name_in(const Json& kernel) { return kernel.at("profile").at("kernel"); }

/// Partners by name, then those that are left over by their order.
std::vector<std::pair<size_t, size_t>> partners_of(const Json& before, const Json& after) {
  std::vector<std::pair<size_t, size_t>> out;
  std::vector<size_t> left, right(after.size());
  for (size_t j = 0; j < after.size(); ++j) right[j] = j;
  for (size_t i = 0; i < before.size(); ++i) {
    const auto same = std::ranges::find_if(right, [&](size_t j) { return name_in(before[i]) == name_in(after[j]); });
    if (same == right.end()) {
      left.push_back(i);
      continue;
    }
    out.emplace_back(i, *same);
    right.erase(same);
  }
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) out.emplace_back(left[i], right[i]);
  std::ranges::sort(out, {}, &std::pair<size_t, size_t>::second);
  return out;
}

RunName run_of(const Json& data, const std::string& path) {
  const Json& run = data.at("run");
  return {path, text_in(run, "command"), text_in(run, "machine")};
}

Comparison comparison_of(const Json& before, const std::string& before_path, const Json& after,
                         const std::string& after_path) {
  Comparison c{run_of(before, before_path), run_of(after, after_path), {}, {}, {}, {}};
  if (c.before.machine != c.after.machine)
    c.notes.push_back(fmt::format("The machines differ: {} before, {} now.", c.before.machine, c.after.machine));
  const std::string free_before = text_in(before.at("run"), "free"), free_after = text_in(after.at("run"), "free");
  if (free_before != free_after)
    c.notes.push_back(fmt::format("What was free differs: {} before, {} now.",
                                  free_before.empty() ? "nothing" : free_before,
                                  free_after.empty() ? "nothing" : free_after));
  const Json &a = before.at("kernels"), &b = after.at("kernels");
  std::set<size_t> met_before, met_after;
  for (const auto& [i, j] : partners_of(a, b)) {
    const Json &p = a[i].at("profile"), &q = b[j].at("profile");
    c.kernels.push_back({name_in(a[i]), name_in(b[j]), text_in(p, "label"), text_in(q, "label"), i, j, times_of(p, q),
                         units_of(p, q), waits_of(p, q), line_changes(a[i], b[j])});
    met_before.insert(i);
    met_after.insert(j);
  }
  for (size_t i = 0; i < a.size(); ++i)
    if (!met_before.contains(i)) c.only_before.push_back(name_in(a[i]));
  for (size_t j = 0; j < b.size(); ++j)
    if (!met_after.contains(j)) c.only_after.push_back(name_in(b[j]));
  return c;
}

}  // namespace

Comparison compare(const Json& before, const std::string& before_path, const Json& after,
                   const std::string& after_path) {
  try {
    return comparison_of(before, before_path, after, after_path);
  } catch (const nlohmann::json::exception&) {
    throw ReportError(
        fmt::format("{}: this report was changed, or {} was: the data lack a part", before_path, after_path));
  }
}

}  // namespace tinygpu::observe

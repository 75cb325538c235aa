#include "common/tinygpu/observe/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/base/version.h"
#include "common/tinygpu/diagnosis/diagnoses.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/observe/report/html.h"
#include "common/tinygpu/observe/report/report.h"
#include "common/tinygpu/observe/verdict.h"
#include "common/tinygpu/timing/free_work.h"

namespace tinygpu::observe {
namespace {

/// Kernels whose verdicts are shown at once: those with the most cycles.
constexpr size_t kVerdictsOpen = 4;

double share(uint64_t part, uint64_t whole) { return whole ? 100.0 * double(part) / double(whole) : 0; }

std::string text_of(const Dim3& d) {
  return d.z > 1   ? fmt::format("{} × {} × {}", d.x, d.y, d.z)
         : d.y > 1 ? fmt::format("{} × {}", d.x, d.y)
                   : fmt::format("{}", d.x);
}

/// One field's value if all launches agree.
template <class F>
std::string common(const KernelRecord& k, F&& field) {
  std::set<std::string> values;
  for (const LaunchRecord& l : k.launches) values.insert(text_of(field(l)));
  return values.size() == 1 ? *values.begin() : "varies";
}

std::string cell(const std::string& text, const char* kind = "n") {
  return fmt::format("<td class=\"{}\">{}</td>", kind, html(text));
}

std::string term(const char* name, const std::string& text) {
  return text.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>", html(name), html(text));
}

/// A place of a diagnosis: what happened there, who did it, the lines.
std::string place(const Where& w, const std::string& label, diagnosis::SourceFiles& files) {
  std::string at = w.kernel.empty() ? "" : kernel_label(w.kernel);
  if (const std::string who = diagnosis::who_of(w); !who.empty()) at += (at.empty() ? "" : ", ") + who;
  if (!label.empty()) at = label + (at.empty() ? "" : ": " + at);
  std::string out = at.empty() ? "" : fmt::format("<p class=\"aside\">{}</p>", html(at));
  std::string quoted;
  if (w.cuda_line) {
    std::string_view line = files.line(w.cuda_file, w.cuda_line).value_or("");
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    quoted += fmt::format("<span class=\"place\">{}</span> {}\n", html(place_of(w)), html(line));
  }
  for (const std::string& call : diagnosis::inlined_lines(w, "")) quoted += html(call) + "\n";
  if (w.ptx_line) quoted += fmt::format("<span class=\"place\">PTX line {}</span> {}\n", w.ptx_line, html(w.ptx_text));
  return quoted.empty() ? out : out + "<pre tabindex=\"0\"><code>" + quoted + "</code></pre>";
}

std::string explanation(const std::string& code) {
  const diagnosis::CodeInfo* c = diagnosis::find_code(code);
  if (!c) return {};
  std::string out = fmt::format("<details><summary>gen5 explain {}</summary><dl class=\"facts\">", html(code));
  out += term("What", std::string(c->what)) + term("Severity", diagnosis::severity_words(*c));
  out += term("Rule", std::string(c->rule.text));
  if (!c->rule.section.empty()) out += term("Section", fmt::format("PTX ISA 9.1, {}", c->rule.section));
  out += term("Hardware", diagnosis::hardware_words(*c)) + term("Fix", std::string(c->fix.text)) + "</dl>";
  if (!c->fix.example.empty()) out += fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>", html(c->fix.example));
  return out + "</details>";
}

/// What the cycles would be if work of a kind were free: "9,500 (−23.0 %)".
std::string free_row(const FreeRun& run, uint64_t cycles) {
  const double by = cycles ? 100 * (double(run.cycles) - double(cycles)) / double(cycles) : 0;
  const double width = cycles ? std::min(100.0, 100 * double(run.cycles) / double(cycles)) : 0;
  return fmt::format(
      "<tr><th scope=\"row\">If {} were free</th><td class=\"n\">{}</td><td class=\"n\">{}{:.1f} %</td><td "
      "class=\"left\"><i style=\"width:{:.1f}%\"></i></td></tr>\n",
      html(run.what), thousands(run.cycles), by < 0 ? "−" : "+", std::abs(by), width);
}

std::string what_if_table(const WhatIf& w) {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"What if\"><table class=\"what-if\"><caption>"
      "What if? Each row is a run of the same program in which such work took no time.</caption><thead><tr><th "
      "scope=\"col\">Run</th><th scope=\"col\" class=\"n\">Cycles</th><th scope=\"col\" class=\"n\">Change</th><th "
      "scope=\"col\">What is left</th></tr></thead><tbody>\n<tr><th scope=\"row\">As it is</th><td class=\"n\">{}</td>"
      "<td class=\"n\"></td><td class=\"left\"><i style=\"width:100%\"></i></td></tr>\n",
      thousands(w.cycles));
  for (const FreeRun& r : w.free) out += free_row(r, w.cycles);
  return out + "</tbody></table></div>\n";
}

std::string verdict_of_kernel(const KernelProfile& p, size_t index) {
  const Verdict v = verdict_of(p);
  const auto row = [](const char* name, const std::string& text) {
    return text.empty() ? std::string() : fmt::format("<dt>{}</dt><dd>{}</dd>", name, text);
  };
  std::string out = fmt::format("<h3 title=\"{}\"><a href=\"#kernel-{}\">{}</a></h3><dl class=\"facts\">", html(p.name),
                                index, html(p.label));
  out += row(v.clear ? "Limited by" : "Unclear",
             (v.limit.empty() ? "" : fmt::format("<strong>{}</strong>. ", html(v.limit))) + html(v.why));
  if (!v.place.empty())
    out += row("Line", fmt::format("<a class=\"code\" href=\"#line-{}-{}\">{}</a>. {}", index, html(v.place),
                                   html(v.place), html(v.at_place)));
  return out + row("Try", html(v.advice)) + row("Beside", html(v.beside)) + "</dl>\n";
}

}  // namespace

std::string verdicts_section(const std::vector<KernelProfile>& profiles, const std::vector<WhatIf>& what_if) {
  std::string out = "<section aria-labelledby=\"verdict\"><h2 id=\"verdict\">Verdict</h2>\n";
  if (profiles.empty()) return out + "<p>No kernel was launched.</p></section>\n";
  std::vector<size_t> order(profiles.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return profiles[i].cycles; });
  for (size_t n = 0; n < order.size(); ++n) {
    if (n == kVerdictsOpen)
      out += fmt::format("<details><summary>{} more, with fewer cycles</summary>\n", order.size() - n);
    const KernelProfile& p = profiles[order[n]];
    out += verdict_of_kernel(p, order[n]);
    const auto w = std::ranges::find(what_if, p.name, &WhatIf::kernel);
    if (w != what_if.end()) out += what_if_table(*w);
  }
  if (order.size() > kVerdictsOpen) out += "</details>\n";
  if (!what_if.empty()) {
    out += "<details><summary>What free means</summary><dl class=\"facts\">";
    for (const FreeKind& k : free_kinds()) out += term(std::string(k.words).c_str(), std::string(k.meaning) + ".");
    out += "</dl><p>Only the clock changes: results and checks stay what they are.</p></details>\n";
  }
  return out + "</section>\n";
}

std::string run_section(const RunFacts& run) {
  std::string out = "<section aria-labelledby=\"run\"><h2 id=\"run\">Run</h2><dl class=\"facts\">";
  out += term("Command", run.command);
  out += term("gen5", kVersion);
  out += term("Machine", fmt::format("{}: {} SMs, {} GHz", run.machine, run.sms, run.clock_ghz));
  out += term("Profile of", run.gpu);
  out += term("Order", run.order) + term("Free", run.free);
  return out +
         "</dl><p class=\"aside\">Simulated by tinygpu: cycles are the machine model's, from a profile of that GPU, "
         "and not measured.</p></section>\n";
}

std::string kernels_section(const std::vector<KernelProfile>& profiles, const std::vector<KernelRecord>& kernels) {
  std::string out = "<section aria-labelledby=\"kernels\"><h2 id=\"kernels\">Kernels</h2>";
  if (profiles.empty()) return out + "<p>No kernel was launched.</p></section>\n";
  out +=
      "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table of kernels\"><table>"
      "<caption>In the order of their first launch. Times: by the clock that power leaves one launch out of idleness, "
      "and a long loop of it. Busy: of the SMs that had a CTA.</caption><thead><tr>"
      "<th scope=\"col\">Kernel</th><th scope=\"col\" class=\"n\">Launches</th><th scope=\"col\" class=\"n\">Grid</th>"
      "<th scope=\"col\" class=\"n\">Block</th><th scope=\"col\" class=\"n\">Cluster</th>"
      "<th scope=\"col\" class=\"n\">Cycles</th><th scope=\"col\" class=\"n\">Time, µs</th>"
      "<th scope=\"col\" class=\"n\">In a loop, µs</th><th scope=\"col\" class=\"n\">TFLOP/s in a loop</th>"
      "<th scope=\"col\" class=\"n\">Tensor core busy</th><th scope=\"col\" class=\"n\">TMA busy</th>"
      "<th scope=\"col\" class=\"n\">SMs</th><th scope=\"col\" class=\"n\">CTAs that fit an SM</th>"
      "<th scope=\"col\" class=\"n\">Waves</th>"
      "</tr></thead><tbody>\n";
  for (size_t i = 0; i < profiles.size(); ++i) {
    const KernelProfile& p = profiles[i];
    const auto k =
        std::find_if(kernels.begin(), kernels.end(), [&](const KernelRecord& r) { return r.name == p.name; });
    const bool known = k != kernels.end();
    out += fmt::format("<tr><th scope=\"row\"><a href=\"#kernel-{}\" title=\"{}\">{}</a></th>", i, html(p.name),
                       html(p.label));
    out += cell(thousands(p.launches));
    out += cell(known ? common(*k, [](const LaunchRecord& l) { return l.grid; }) : "");
    out += cell(known ? common(*k, [](const LaunchRecord& l) { return l.block; }) : "");
    out += cell(known ? common(*k, [](const LaunchRecord& l) { return l.cluster; }) : "");
    // A launch that a fault ends has no length.
    if (p.cycles)
      out += cell(thousands(p.cycles)) + cell(fmt::format("{:.2f}", p.cold.seconds * 1e6)) +
             cell(fmt::format("{:.2f}", p.sustained.seconds * 1e6)) +
             cell(known && k->operations ? fmt::format("{:.1f}", double(k->operations) / p.sustained.seconds * 1e-12)
                                         : "");
    else
      out += cell("stopped") + cell("") + cell("") + cell("");
    out += cell(fmt::format("{:.1f} %", share(p.tensor_core_busy, p.sm_cycles)));
    out += cell(fmt::format("{:.1f} %", share(p.tma_busy, p.sm_cycles)));
    out += cell(fmt::format("{}", p.sms)) + cell(fmt::format("{}", p.fits)) + cell(fmt::format("{:.2f}", p.waves));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></section>\n";
}

std::string diagnoses_section(const std::vector<Diagnosis>& diagnoses, uint64_t left_out,
                              diagnosis::SourceFiles& files) {
  std::string out = "<section aria-labelledby=\"diagnoses\"><h2 id=\"diagnoses\">Diagnoses</h2>";
  if (diagnoses.empty()) return out + "<p>None.</p></section>\n";
  out += "<ol class=\"diagnoses\">\n";
  std::set<std::string> explained;
  for (const Diagnosis& d : diagnoses) {
    const char* severity = diagnosis::name_of(d.severity);
    out += fmt::format("<li class=\"{0}\"><h3><span class=\"tag\">{0}</span> <code>{1}</code></h3><p>{2}</p>", severity,
                       html(d.code), html(d.message));
    out += place(d.where, d.label, files);
    for (const LabelledPlace& p : d.others) out += place(p.where, p.label, files);
    if (d.count > 1) out += fmt::format("<p class=\"aside\">{} times in this launch</p>", thousands(d.count));
    if (!d.help.empty()) out += fmt::format("<p><strong>Help:</strong> {}</p>", html(d.help));
    if (explained.insert(d.code).second) out += explanation(d.code);
    out += "</li>\n";
  }
  out += "</ol>";
  if (left_out) out += fmt::format("<p>{} more are left out.</p>", left_out);
  return out + "</section>\n";
}

}  // namespace tinygpu::observe

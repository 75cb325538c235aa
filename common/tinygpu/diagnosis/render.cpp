#include "common/tinygpu/diagnosis/render.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/base/wrap.h"
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {
namespace {

enum class Ink : uint8_t { error, warning, note, frame, dim, bold };

class Renderer {
 public:
  Renderer(const Diagnosis& d, const RenderOptions& options) : d_(d), options_(options) {
    places_.push_back({d.where, d.label});
    places_.insert(places_.end(), d.others.begin(), d.others.end());
    std::erase_if(places_, [](const LabelledPlace& p) { return p.where.ptx_line <= 0 && p.where.cuda_file.empty(); });
    for (const LabelledPlace& p : places_) gutter_ = std::max(gutter_, fmt::formatted_size("{}", line_of(p.where)));
  }

  std::string text() {
    out_ = fmt::format("{}{}\n", ink(fmt::format("tinygpu {}[{}]", name_of(d_.severity), d_.code), severity_ink()),
                       ink(": " + d_.message, Ink::bold));
    for (size_t i = 0; i < places_.size();) {
      // Who did it at the same line is told below one quotation.
      size_t end = i + 1;
      while (end < places_.size() && same_line(places_[i].where, places_[end].where)) ++end;
      snippet(i, end);
      i = end;
    }
    if (!places_.empty()) bar("");
    if (!d_.where.kernel.empty()) remark("kernel", kernel_words(), ~size_t{0});
    if (d_.count > 1) remark("count", fmt::format("{} times in this launch; this is the first", d_.count));
    remark("runs", options_.runs);
    if (options_.general) remark("rule", rule_of(d_));
    remark("fix", d_.help);
    if (options_.general) example();
    if (options_.more) remark("more", "gen5 explain " + d_.code);
    remark("debug", options_.debug, ~size_t{0});
    return std::move(out_);
  }

 private:
  static int line_of(const Where& w) { return w.cuda_file.empty() ? w.ptx_line : w.cuda_line; }
  static bool same_line(const Where& a, const Where& b) {
    return a.cuda_file == b.cuda_file && line_of(a) == line_of(b) && a.kernel == b.kernel;
  }
  Ink severity_ink() const {
    return d_.severity == Severity::error ? Ink::error : d_.severity == Severity::warning ? Ink::warning : Ink::note;
  }

  std::string ink(std::string_view text, Ink ink) const {
    if (!options_.color) return std::string(text);
    static constexpr const char* kCodes[] = {"1;31", "1;33", "1;36", "1;34", "2", "1"};
    return fmt::format("\033[{}m{}\033[0m", kCodes[size_t(ink)], text);
  }

  void bar(std::string_view text) {
    out_ += fmt::format("{:{}} {}{}{}\n", "", gutter_, ink("|", Ink::frame), text.empty() ? "" : " ", text);
  }
  void quote(int number, std::string_view line) {
    out_ +=
        fmt::format("{} {} {}\n", ink(fmt::format("{:>{}}", number, gutter_), Ink::frame), ink("|", Ink::frame), line);
  }

  /// Places [first, end), which are at one line.
  void snippet(size_t first, size_t end) {
    const Where& w = places_[first].where;
    const std::string file = path_from(options_.folder, w.cuda_file);
    std::string at = fmt::format("ptx line {}", w.ptx_line);
    if (!file.empty())
      at = fmt::format("{}:{}{}", file, w.cuda_line, w.cuda_column > 0 ? fmt::format(":{}", w.cuda_column) : "");
    out_ += fmt::format("{:{}}{} {}\n", "", gutter_, ink(first ? ":::" : "-->", Ink::frame), at);
    if (!first) bar("");
    std::optional<std::string_view> line;
    if (file.empty())
      line = w.ptx_text;
    else if (options_.files)
      line = options_.files->line(w.cuda_file, w.cuda_line);
    if (line) quote(line_of(w), *line);
    for (size_t i = first; i < end; ++i) {
      const LabelledPlace& p = places_[i];
      if (line)
        mark(p, *line, i == 0);
      else if (!p.label.empty())
        bar(p.label);
      if (i == first || p.where.ptx_line != places_[i - 1].where.ptx_line)
        for (const std::string& call : inlined_lines(p.where, options_.folder)) bar(ink(call, Ink::dim));
      if (const std::string who = who_of(p.where); !who.empty()) bar(ink("by " + who, Ink::dim));
      if (!file.empty() && p.where.ptx_line > 0 && (i == first || p.where.ptx_line != places_[i - 1].where.ptx_line))
        bar(ink(fmt::format("ptx line {}: {}", p.where.ptx_line, p.where.ptx_text), Ink::dim));
    }
  }

  /// The label of a place, below its column of the line.
  void mark(const LabelledPlace& p, std::string_view line, bool primary) {
    size_t column = p.where.cuda_file.empty() ? 0 : size_t(std::max(0, p.where.cuda_column));
    if (column == 0 || column > line.size()) column = std::min(line.find_first_not_of(" \t"), line.size()) + 1;
    std::string before;
    for (const char c : line.substr(0, column - 1))
      if ((c & 0xc0) != 0x80) before += c == '\t' ? '\t' : ' ';
    const std::string label = p.label.empty() ? "" : " " + p.label;
    bar(before + ink((primary ? "^" : "-") + label, primary ? severity_ink() : Ink::frame));
  }

  void remark(std::string_view name, std::string_view text, size_t width = 100) {
    if (text.empty()) return;
    const std::string indent(gutter_ + 3 + name.size() + 2, ' ');
    out_ += fmt::format("{:{}} {} {}: {}\n", "", gutter_, ink("=", Ink::frame), ink(name, Ink::bold),
                        wrapped(text, indent.size(), indent, width));
  }

  void example() {
    const std::string text = example_of(d_);
    std::string_view lines = text;
    while (!lines.empty()) {
      const size_t end = std::min(lines.find('\n'), lines.size());
      out_ += fmt::format("{:{}}{}\n", "", gutter_ + 8, lines.substr(0, end));
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
  }

  /// The first place's kernel, as its launch is called, and of others those that differ.
  std::string kernel_words() const {
    std::vector<std::string> names = {d_.where.kernel};
    for (const LabelledPlace& p : places_)
      if (!p.where.kernel.empty() && std::ranges::find(names, p.where.kernel) == names.end())
        names.push_back(p.where.kernel);
    std::string out;
    for (const std::string& name : names)
      out += out.empty() ? launch_label(options_.launch, name) : ", then " + kernel_label(name);
    return out;
  }

  const Diagnosis& d_;
  const RenderOptions& options_;
  std::vector<LabelledPlace> places_;
  size_t gutter_ = 2;
  std::string out_;
};

}  // namespace

bool in_color(int file_descriptor) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  return isatty(file_descriptor) && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

std::string render(const Diagnosis& d, const RenderOptions& options) { return Renderer(d, options).text(); }

std::string who_of(const Where& w) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (w.cta[0] >= 0) add(fmt::format("CTA ({},{},{})", w.cta[0], w.cta[1], w.cta[2]));
  if (w.warp >= 0) add(fmt::format("warp {}", w.warp));
  if (w.thread >= 0) add(fmt::format("thread {}", w.thread));
  if (!w.operation.empty()) out = w.operation + (out.empty() ? "" : " of ") + out;
  if (w.cycle >= 0) add(fmt::format("at cycle {}", w.cycle));
  return out;
}

std::vector<std::string> inlined_lines(const Where& w, const std::string& folder) {
  // Templates of CUTLASS make chains of dozens.
  constexpr size_t kInner = 4, kOuter = 3;
  const size_t n = w.inlined.size();
  std::vector<std::string> out;
  for (size_t i = 0; i < n; ++i) {
    if (n > kInner + kOuter + 1 && i == kInner) {
      i = n - kOuter;
      out.push_back(fmt::format("   … {} calls, inlined into", n - kInner - kOuter));
    }
    const InlinedPlace& p = w.inlined[i];
    const std::string at =
        fmt::format("{}:{}{}", path_from(folder, p.file), p.line, p.column > 0 ? fmt::format(":{}", p.column) : "");
    const std::string name = short_name(p.function);
    out.push_back(fmt::format("{} {}, inlined {}", i ? "  " : "in",
                              name.empty() ? at : fmt::format("{} ({})", name, at), i + 1 < n ? "into" : "here"));
  }
  return out;
}

std::string path_from(const std::string& folder, const std::string& path) {
  const std::string below = folder + (folder.ends_with('/') ? "" : "/");
  return !folder.empty() && path.starts_with(below) ? path.substr(below.size()) : path;
}

const char* name_of(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

std::string rule_of(const Diagnosis& d) {
  const CodeInfo* c = find_code(d.code);
  const std::string text = d.rule.empty() && c ? std::string(c->rule.text) : d.rule;
  const std::string section = d.section.empty() && d.rule.empty() && c ? std::string(c->rule.section) : d.section;
  return text + (section.empty() ? "" : fmt::format("{}(PTX ISA 9.1, {})", text.empty() ? "" : " ", section));
}

std::string example_of(const Diagnosis& d) {
  const CodeInfo* c = find_code(d.code);
  return d.example.empty() && c ? std::string(c->fix.example) : d.example;
}

}  // namespace tinygpu::diagnosis

// Two runs side by side, as a part of the page that can be read without a script.
#include <fmt/format.h>

#include "common/tinygpu/observe/report/compare.h"
#include "common/tinygpu/observe/report/html.h"

namespace tinygpu::observe {
namespace {

const char* class_of(Change::Mark mark) {
  switch (mark) {
    case Change::Mark::same: return "same";
    case Change::Mark::less: return "less";
    case Change::Mark::more: return "more";
    case Change::Mark::other: return "changed";
  }
  return "";
}

/// `judged`: fewer is better.
std::string opened(const std::string& label, const std::string& heads, bool judged) {
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><table class=\"compared{2}\"><caption>{0}"
      "</caption><thead><tr>{1}</tr></thead><tbody>\n",
      html(label), heads, judged ? " judged" : "");
}

std::string head(const char* text, bool number = true) {
  return fmt::format("<th scope=\"col\"{}>{}</th>", number ? " class=\"n\"" : "", text);
}

std::string change_table(const std::string& label, const std::vector<Change>& changes, bool judged = false) {
  if (changes.empty()) return {};
  std::string out = opened(label, head("What", false) + head("Before") + head("Now") + head("Change"), judged);
  for (const Change& c : changes)
    out += fmt::format(
        "<tr class=\"{}\"><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n "
        "change\">{}</td></tr>\n",
        class_of(c.mark), html(c.name), html(c.before), html(c.after),
        c.mark == Change::Mark::other ? "changed" : html(c.difference));
  return out + "</tbody></table></div>\n";
}

std::string line_table(size_t kernel, const std::vector<LineChange>& lines) {
  if (lines.empty()) return "<p>No line's cycles changed.</p>\n";
  std::string out = opened("Lines: cycles of warps, issuing or waiting. The largest changes come first.",
                           head("Before", false) + head("Now", false) + head("Source", false) + head("Before") +
                               head("Now") + head("Change"),
                           true);
  for (const LineChange& l : lines) {
    const bool less = l.after < l.before;
    const std::string now = l.after_at.empty() ? "<span class=\"dim\">gone</span>"
                                               : fmt::format("<a class=\"code\" href=\"#line-{}-{}\">{}</a>", kernel,
                                                             html(l.after_at), html(l.after_at));
    out += fmt::format(
        "<tr class=\"{}\"><th scope=\"row\">{}</th><td>{}</td><td class=\"code\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n change\">{}{}</td></tr>\n",
        less ? "less" : "more",
        l.before_at.empty() ? "<span class=\"dim\">new</span>" : fmt::format("<code>{}</code>", html(l.before_at)), now,
        html(l.text), thousands(l.before), thousands(l.after), less ? "−" : "+",
        thousands(less ? l.before - l.after : l.after - l.before));
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string comparison_section(const Comparison& c) {
  std::string out = fmt::format(
      "<section aria-labelledby=\"compared\"><h2 id=\"compared\">Two runs</h2><dl class=\"facts\"><dt>Before</dt>"
      "<dd>{}: {} on {}</dd><dt>Now</dt><dd>{} on {}</dd></dl>\n",
      html(c.before.path), html(c.before.command), html(c.before.machine), html(c.after.command),
      html(c.after.machine));
  for (const std::string& note : c.notes) out += fmt::format("<p><strong>{}</strong></p>", html(note));
  for (const KernelChange& k : c.kernels) {
    out += fmt::format("<h3 title=\"{}\">{}</h3>", html(k.after), html(k.after_label));
    if (k.before != k.after)
      out += fmt::format("<p>Another kernel, compared with <span title=\"{}\">{}</span>.</p>", html(k.before),
                         html(k.before_label));
    out += change_table("Times and limits", k.times, true) + change_table("Units", k.units) +
           change_table("Waits, in shares of the time of a role's warps. Changes of a point or more.", k.waits) +
           line_table(k.after_index, k.lines);
  }
  for (const std::string& name : c.only_before) out += fmt::format("<p>Only before: <code>{}</code></p>", html(name));
  for (const std::string& name : c.only_after) out += fmt::format("<p>Only now: <code>{}</code></p>", html(name));
  if (c.kernels.empty()) out += "<p>No kernel is in both runs.</p>";
  return out + "</section>\n";
}

}  // namespace tinygpu::observe

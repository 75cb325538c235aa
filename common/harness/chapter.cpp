#include "common/harness/chapter.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/harness/lesson.h"
#include "common/harness/new_instructions.h"
#include "common/harness/output.h"
#include "common/harness/wrap.h"

namespace gen5::harness {
namespace {

/// Ten seconds of a B200: no kernel of a chapter runs as long, and a deadlock, which takes two (200 times the longest
/// wait of a try_wait), is told as such before. tinygpu reads this when the program registers its kernels: before
/// everything else.
[[gnu::constructor(101)]] void bound_kernels() { setenv("GEN5_MAX_CYCLES", "20000000000", 0); }

void print_new_instructions() {
  if (!new_instructions || new_instructions().empty()) return;
  fmt::print("\nNew PTX in this chapter; `gen5 explain 'INSTRUCTION'` tells more:\n\n");
  for (const NewInstruction& i : new_instructions()) fmt::print("  {}\n      {}\n{}", i.ptx, i.says, i.operands);
}

/// Paragraphs, tables and titles have one blank line above them, whatever stands there; checks follow each other.
bool blank_above = false;

void print_block(const std::string& text) {
  const size_t begin = text.find_first_not_of('\n'), end = text.find_last_not_of('\n');
  if (begin == std::string::npos) return;
  fmt::print("{}{}\n\n", blank_above ? "" : "\n", text.substr(begin, end + 1 - begin));
  blank_above = true;
}

}  // namespace

void Report::say(const std::string& text) {
  texts_.push_back(text);
  if (!quiet_) print_block(wrapped(text));
}

void Report::picture(const std::string& text) {
  texts_.push_back(text);
  if (!quiet_) print_block(text);
}

void Report::table(const Table& table) {
  tables_.push_back(table);
  if (!quiet_) print_block(table.render());
}

void Report::check(const std::string& claim, bool holds, const std::string& detail) {
  checks_.push_back({claim, detail, holds});
  if (!holds) ++failures_;
  if (quiet_) return;
  fmt::print("  [{}] {}{}{}\n", holds ? "ok" : "WRONG", claim, detail.empty() ? "" : ": ", detail);
  blank_above = false;
}

void Report::value(const std::string& key, double value) { values_.emplace_back(key, value); }

Chapter::Chapter(std::string number, std::string title, std::string sentence)
    : number_(std::move(number)), title_(std::move(title)), sentence_(std::move(sentence)) {}

void Chapter::part(std::string name, std::string title, Body body) {
  parts_.push_back({std::move(name), std::move(title), std::move(body)});
}

void Chapter::mistakes(std::span<const Mistake> all) { mistakes_.insert(mistakes_.end(), all.begin(), all.end()); }

void Chapter::flag(std::string name, bool& variable, std::string help) {
  Option o;
  o.name = std::move(name);
  o.help = std::move(help);
  o.flag = &variable;
  options_.push_back(std::move(o));
}

void Chapter::number(std::string name, uint32_t& variable, uint32_t least, uint32_t most, std::string help) {
  Option o;
  o.name = std::move(name);
  o.help = std::move(help);
  o.number = &variable;
  o.least = least;
  o.most = most;
  options_.push_back(std::move(o));
}

void Chapter::choice(std::string name, std::string& variable, std::vector<std::string> choices, std::string help) {
  Option o;
  o.name = std::move(name);
  o.help = std::move(help);
  o.text = &variable;
  o.choices = std::move(choices);
  options_.push_back(std::move(o));
}

int Chapter::lesson(const Mistake& mistake) const {
  try {
    fmt::print("Chapter {}: {}\nrunning on {}\n\n== {} ({})\n\n", number_, title_, current_device().describe(),
               mistake.title, mistake.name);
    return teach(mistake);
  } catch (const std::exception& e) {
    std::fflush(stdout);
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
}

int Chapter::run(int argc, char** argv) {
  try {
    return code_with_output(run_command_line(argc, argv));
  } catch (const std::exception& e) {  // such as fmt's, of a disk that is full
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}

struct Chapter::Words {
  bool list = false, json = false, profile = false, stamps = false;
  std::vector<std::string> parts;
  std::string mistake, kernel, trace, page;
};

int Chapter::run_command_line(int argc, char** argv) {
  CLI::App app(fmt::format("Chapter {}: {}. {}", number_, title_, sentence_));
  Words w;
  app.add_flag("--list", w.list, "List the parts and mistakes");
  app.add_option("--part", w.parts, "Run only this part (may be given several times)");
  app.add_option("--mistake", w.mistake, "A lesson: what this mistake does, what is said about it, and its fix");
  app.add_option("--kernel", w.kernel, "With --mistake: run this kernel alone, here")
      ->check(CLI::IsMember({"wrong", "right"}));
  app.add_flag("--json", w.json, "Write one JSON document instead of text");
  app.add_option("--trace", w.trace, "On tinygpu: write a timeline into this file, for ui.perfetto.dev");
  app.add_flag("--profile", w.profile, "On tinygpu: say at the end where each kernel's time went");
  app.add_flag("--stamps", w.stamps,
               "On tinygpu: draw timelines from clock stamps of the kernels, as on hardware, not from what it sees");
  app.add_option("--report", w.page,
                 "On tinygpu: write profile, timelines and diagnoses into this file, a page for a browser");
  for (const Option& o : options_) {
    if (o.flag) app.add_flag(o.name, *o.flag, o.help);
    if (o.number) app.add_option(o.name, *o.number, o.help)->check(CLI::Range(o.least, o.most))->capture_default_str();
    if (o.text) app.add_option(o.name, *o.text, o.help)->check(CLI::IsMember(o.choices))->capture_default_str();
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (w.list) {
    print_list();
    return 0;
  }

  // A chapter's kernels keep every rule of Tensor Memory, and its mistakes are stopped by them.
  setenv("GEN5_TMEM_CHECKS", "strict", 0);
  // And they are ordered whatever the schedule is.
  setenv("GEN5_CHECK", "races", 0);

  // tinygpu reads these at the first launch; on hardware nobody does.
  if (!w.trace.empty()) setenv("GEN5_TRACE", w.trace.c_str(), 1);
  if (w.profile) setenv("GEN5_PROFILE", "1", 1);
  if (!w.page.empty()) setenv("GEN5_REPORT", w.page.c_str(), 1);
  return w.mistake.empty() ? run_parts(w) : run_mistake(w);
}

void Chapter::print_list() const {
  fmt::print("Chapter {}: {}\n\nparts:\n", number_, title_);
  for (const Entry& e : parts_) fmt::print("  {:<24} {}\n", e.name, e.title);
  if (!mistakes_.empty())
    fmt::print("\nmistakes:\n\n{}\n  That makes {}. --mistake NAME is a lesson on one.\n", table_of(mistakes_).render(),
               mistakes_.size());
}

int Chapter::run_mistake(const Words& words) const {
  const auto it = std::ranges::find_if(mistakes_, [&](const Mistake& m) { return words.mistake == m.name; });
  if (it == mistakes_.end()) {
    fmt::print(stderr, "no such mistake: {}; --list shows them\n", words.mistake);
    return 2;
  }
  if (!words.kernel.empty()) return run_kernel_of(*it, words.kernel == "wrong");
  if (words.json || words.profile || !words.trace.empty() || !words.page.empty()) {
    fmt::print(stderr, "a lesson runs kernels in processes of their own: add --kernel wrong, or right\n");
    return 2;
  }
  return lesson(*it);
}

int Chapter::run_parts(const Words& words) const {
  std::vector<const Entry*> chosen;
  for (const std::string& name : words.parts) {
    const auto it = std::ranges::find(parts_, name, &Entry::name);
    if (it == parts_.end()) {
      fmt::print(stderr, "no such part: {}; --list shows them\n", name);
      return 2;
    }
    chosen.push_back(&*it);
  }
  if (words.parts.empty())
    for (const Entry& e : parts_) chosen.push_back(&e);

  nlohmann::ordered_json document;
  bool good = true;
  try {
    const Device device = current_device();
    document["chapter"] = number_;
    document["device"] = device.name;
    if (!words.json)
      fmt::print("Chapter {}: {}\n{}\nrunning on {}\n", number_, title_, wrapped(sentence_), device.describe());
    if (!words.json && words.parts.empty()) print_new_instructions();
    for (const Entry* e : chosen) {
      if (!words.json) print_block(fmt::format("== {} ({})", e->title, e->name));
      std::fflush(stdout);
      Report report(words.json, words.stamps);
      e->body(report);
      good &= report.passed();
      auto& part = document["parts"].emplace_back();
      part["name"] = e->name;
      part["passed"] = report.passed();
      part["text"] = report.texts_;
      for (const Table& t : report.tables_) part["tables"].push_back({{"head", t.head()}, {"rows", t.rows()}});
      for (const auto& c : report.checks_)
        part["checks"].push_back({{"claim", c.claim}, {"holds", c.holds}, {"detail", c.detail}});
      for (const auto& [key, v] : report.values_) part["values"][key] = v;
    }
  } catch (const Unusable& e) {
    std::fflush(stdout);
    fmt::print(stderr, "error: {}\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    good = false;
    std::fflush(stdout);
    fmt::print(stderr, "error: {}\n", e.what());
    document["error"] = e.what();
  }
  document["passed"] = good;
  if (words.json)
    fmt::print("{}\n", document.dump(2));
  else
    fmt::print("{}{}\n", blank_above ? "" : "\n", good ? "All checks hold." : "NOT everything holds: see above.");
  return good ? 0 : 1;
}

}  // namespace gen5::harness

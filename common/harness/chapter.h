// A chapter's main(): named parts and mistakes, what they say and check, and the command line that picks them.
//
//   int main(int argc, char** argv) {
//     gen5::harness::Chapter chapter("03", "tcgen05.alloc", "Tensor Memory is allocated, not declared.");
//     chapter.part("smallest", "One warp allocates 32 columns", smallest);
//     chapter.mistakes(kMistakes);
//     return chapter.run(argc, argv);
//   }
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/harness/mistake.h"
#include "common/harness/table.h"

namespace gen5::harness {

/// What a part writes into. Text goes to the terminal at once, and into --json's document.
class Report {
 public:
  explicit Report(bool quiet, bool stamps = false) : quiet_(quiet), stamps_(stamps) {}
  /// A paragraph.
  void say(const std::string& text);
  /// Preformatted lines: a picture, a dump.
  void picture(const std::string& text);
  void table(const Table& table);
  /// A claim that was tested. `detail` says what was seen.
  void check(const std::string& claim, bool holds, const std::string& detail = {});
  /// A number for --json.
  void value(const std::string& key, double value);

  /// Timelines shall come from stamps of the kernels themselves, as on hardware, though somebody watches.
  bool stamps() const { return stamps_; }

  bool passed() const { return failures_ == 0; }
  int checks() const { return int(checks_.size()); }

 private:
  friend class Chapter;
  struct Check {
    std::string claim, detail;
    bool holds;
  };
  bool quiet_, stamps_;
  int failures_ = 0;
  std::vector<std::string> texts_;
  std::vector<Table> tables_;
  std::vector<Check> checks_;
  std::vector<std::pair<std::string, double>> values_;
};

/// What a part throws when it cannot do what was asked for: a sentence. The program ends with exit code 2.
struct Unusable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Chapter {
 public:
  /// `number` as in the folder's name, what the chapter is about, and one sentence.
  Chapter(std::string number, std::string title, std::string sentence);

  using Body = std::function<void(Report&)>;
  /// Parts run in the order they were added.
  void part(std::string name, std::string title, Body body);
  /// Deliberately broken kernels, run by --mistake alone: a table that the build makes of a mistakes.txt.
  void mistakes(std::span<const Mistake> all);
  // Options of the chapter's own. The variables are set before a part runs.
  void flag(std::string name, bool& variable, std::string help);
  void number(std::string name, uint32_t& variable, uint32_t least, uint32_t most, std::string help);
  void choice(std::string name, std::string& variable, std::vector<std::string> choices, std::string help);

  /// Parses the command line and runs what it asks for. 0: everything that was checked holds; 1: not; 2: usage.
  int run(int argc, char** argv);

 private:
  struct Entry {
    std::string name, title;
    Body body;
  };
  struct Words;  // of the command line
  int run_command_line(int argc, char** argv);
  void print_list() const;
  int run_mistake(const Words& words) const;
  int lesson(const Mistake& mistake) const;
  int run_parts(const Words& words) const;

  std::string number_, title_, sentence_;
  std::vector<Entry> parts_;
  std::vector<Mistake> mistakes_;
  struct Option {
    std::string name, help;
    bool* flag = nullptr;
    uint32_t* number = nullptr;
    uint32_t least = 0, most = 0;
    std::string* text = nullptr;
    std::vector<std::string> choices;
  };
  std::vector<Option> options_;
};

}  // namespace gen5::harness

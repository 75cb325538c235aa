// A kernel with a line or two wrong, and what is promised about it. The build makes these from a chapter's mistakes.txt
// (cmake/make_mistakes.py); CONTRIBUTING.md describes that form.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "common/harness/difference.h"

namespace gen5::harness {

struct Mistake {
  std::string name;
  std::string title;  // what is wrong, in a line
  /// The lines that are wrong against those that are right: lines "@ file:line, in function", then lines that begin
  /// with "-" (right), "+" (wrong) or a space.
  std::string diff;
  /// What tinygpu says in every order of completion: codes, separated by ", "; others may come with them. Or one of the
  /// two below: then it says nothing.
  std::string says;
  std::string silent;  // orders in which it says nothing, by luck: "timed", "late, seed 1"; empty: none
  std::string why;     // what goes wrong
  std::string find;    // how one finds the fault from a wrong number; of kernels that tinygpu says nothing of
  std::string look;    // the debugger's commands for that, "; " between; or empty
  std::string h200;    // what an H200 did, with the date; empty: not tried on silicon
  std::string set;     // "NAME=value" for the environment; or empty
  bool safe = false;   // the kernel may run on hardware: it neither hangs nor faults there
  std::function<Verdict()> wrong;  // runs the broken kernel
  std::function<Verdict()> right;  // and the one that is right
};

/// `says` of a kernel that keeps every rule and computes something else than was meant.
inline constexpr const char* kWrongNumbers = "wrong numbers";
/// `says` of a broken rule that tinygpu does not see yet.
inline constexpr const char* kNotYet = "not diagnosed yet";

/// How one run of a kernel, in a process of its own, ended.
struct Outcome {
  std::string order;               // "timed", "late", "seed 1"
  std::vector<std::string> codes;  // of the diagnoses, in order, each once
  std::string diagnoses;           // their text
  std::string stopped;             // CUDA's error, a signal or a timeout; empty: the kernel ended by itself
  bool numbers_right = false;      // only if it did
  std::string difference;          // one number that is wrong, as a sentence; empty: none is, or the chapter gives none
};

/// Whether `item` is one of them.
bool has(const std::vector<std::string>& list, const std::string& item);
/// The codes in what tinygpu has written: "error[deadlock]", "warning[…]" and, if wanted, "note[…]".
std::vector<std::string> codes_in(const std::string& text, bool notes = true);
/// The diagnosis with this code, from its first line to before the next one; empty if there is none.
std::string diagnosis_of(const std::string& text, const std::string& code);
/// "a, b" as a list.
std::vector<std::string> listed(const std::string& text);
/// All codes of a promise such as `a|b, c`: one of a and b in every order, and c.
std::vector<std::string> codes_promised(const std::string& says);

/// What is not as promised in the runs of the broken kernel: a sentence, or nothing.
std::string broken_promise(const Mistake& mistake, const std::vector<Outcome>& outcomes);
/// What is wrong with the runs of the right kernel: a sentence, or nothing.
std::string not_fixed(const std::vector<Outcome>& outcomes);

}  // namespace gen5::harness

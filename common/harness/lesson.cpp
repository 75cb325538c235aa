#include "common/harness/lesson.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "common/harness/child.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/harness/wrap.h"

namespace gen5::harness {
namespace {

namespace fs = std::filesystem;

constexpr int kRight = 0, kWrong = 1, kStopped = 3;  // exit codes of run_kernel_of
constexpr int kSeconds = 60, kSecondsOnHardware = 10;

struct Order {
  const char *name, *setting;
};
constexpr Order kOrders[] = {{"timed", "GEN5_ORDER=timed"}, {"late", "GEN5_ORDER=late"}, {"seed 1", "GEN5_SEED=1"}};

bool promises_nothing(const Mistake& m) { return m.says == kWrongNumbers || m.says == kNotYet; }

/// The diff as it is, or the way back: what was wrong taken away, what is right put there.
std::string shown(const Mistake& m, bool fix) {
  std::string out, put;
  const std::string diff = m.diff;
  for (size_t at = 0; at < diff.size();) {
    const size_t end = diff.find('\n', at);
    std::string line = diff.substr(at, end - at);
    at = end + 1;
    if (fix && (line[0] == '-' || line[0] == '+')) {
      line[0] = line[0] == '-' ? '+' : '-';
      (line[0] == '+' ? put : out) += "    " + line + "\n";
      continue;
    }
    out += put;
    put.clear();
    out += line[0] == '@' ? "  " + line.substr(2) + "\n" : "    " + line + "\n";
  }
  return out + put;
}

/// One line changed for another, left out or put in: its fix needs no diff of its own.
bool of_one_line(const Mistake& m) {
  const std::string diff = "\n" + m.diff;
  const auto lines = [&](const char* sign) {
    size_t count = 0;
    for (size_t at = diff.find(sign); at != std::string::npos; at = diff.find(sign, at + 1)) ++count;
    return count;
  };
  return lines("\n-") <= 1 && lines("\n+") <= 1;
}

/// What a reader takes away from a fault of one line; else the reason and the way back.
std::string moral(const Mistake& m) {
  return of_one_line(m) ? wrapped("Remember: " + m.why)
                        : fmt::format("{}\nThe fix:\n\n{}", wrapped(m.why), shown(m, true));
}

std::string line_of(const std::string& text, int number) {
  size_t at = 0;
  for (; number > 0; --number) {
    at = text.find('\n', at);
    if (at == std::string::npos) return {};
    ++at;
  }
  return text.substr(at, text.find('\n', at) - at);
}

Outcome run_in(const Mistake& m, bool wrong, const Order* order) {
  std::vector<std::string> variables;
  if (order) variables.push_back(order->setting);
  if (!m.set.empty()) variables.push_back(m.set);
  const Child child = run_again({"--mistake", m.name, "--kernel", wrong ? "wrong" : "right"}, variables,
                                order ? kSeconds : kSecondsOnHardware);
  Outcome o;
  o.order = order ? order->name : "the GPU";
  o.diagnoses = child.errors;
  // Something may be worth a note of a right kernel too: only one that is promised counts.
  o.codes = codes_in(child.errors, false);
  const std::vector<std::string> promised = codes_promised(m.says);
  for (const std::string& code : codes_in(child.errors))
    if (wrong && has(promised, code) && !has(o.codes, code)) o.codes.push_back(code);
  o.numbers_right = child.status == kRight;
  if (child.status == kWrong) o.difference = line_of(child.output, 1);
  if (child.status < 0)
    o.stopped = child.ending;
  else if (child.status == kStopped)
    o.stopped = line_of(child.output, 0);
  else if (child.status != kRight && child.status != kWrong)
    o.stopped = fmt::format("exit code {}", child.status);
  return o;
}

std::vector<Outcome> run_in_all(const Mistake& m, bool wrong) {
  std::vector<Outcome> out;
  for (const Order& order : kOrders) out.push_back(run_in(m, wrong, &order));
  return out;
}

void print_outcomes(const std::vector<Outcome>& outcomes) {
  for (const Outcome& o : outcomes) {
    const std::string end = !o.stopped.empty() ? o.stopped : o.numbers_right ? "right numbers" : "WRONG numbers";
    fmt::print("  {:<8}{:<40}  {}\n", o.order, end,
               o.codes.empty() ? "nothing said" : fmt::format("{}", fmt::join(o.codes, ", ")));
  }
  fmt::print("\n");
}

void print_diagnoses(const Mistake& m, const std::vector<Outcome>& outcomes) {
  for (const std::string& code : codes_promised(m.says))
    for (const Outcome& o : outcomes)
      if (const std::string text = diagnosis_of(o.diagnoses, code); !text.empty()) {
        fmt::print("{}\n", text);
        break;
      }
}

/// The command that looks there, as one writes it in this folder.
std::string debugger(const Mistake& m) {
  const fs::path program = fs::read_symlink("/proc/self/exe"), here = fs::current_path();
  const auto from_here = [&](const fs::path& path) {
    const fs::path relative = path.lexically_relative(here);
    return relative.empty() || relative.native().starts_with("..") ? path.native() : relative.native();
  };
  std::string out = fmt::format("    {} debug --batch", from_here(program.parent_path() / "gen5"));
  for (std::string_view rest = m.look; !rest.empty();) {
    const size_t end = std::min(rest.find("; "), rest.size());
    out += fmt::format(" -x '{}'", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return out + fmt::format(" \\\n      {} --mistake {} --kernel wrong\n", from_here(program), m.name);
}

/// One number that is wrong, and how one finds from there what is.
void print_difference(const Mistake& m, const std::vector<Outcome>& outcomes) {
  const auto wrong = std::ranges::find_if(outcomes, [](const Outcome& o) { return !o.difference.empty(); });
  if (wrong == outcomes.end()) return;
  const bool same = std::ranges::all_of(outcomes, [&](const Outcome& o) { return o.difference == wrong->difference; });
  std::string orders;
  if (outcomes.size() > 1 && same)
    orders =
        " It is the same in every order of completion (as `gen5 run --order late` has it, too), so nothing points to a "
        "missing wait or fence: look for a wrong address, descriptor or number.";
  else if (outcomes.size() > 1)
    orders = fmt::format(" That is with effects {}; other orders give other numbers.", wrong->order);
  fmt::print("{}", wrapped(fmt::format("One wrong number: {}.{}", wrong->difference, orders)));
  if (!m.find.empty()) fmt::print("{}", wrapped("How to find the fault: " + m.find));
  if (!m.look.empty()) fmt::print("\n{}", debugger(m));
  fmt::print("\n");
}

std::string remark(const char* before, const std::string& text) {
  return text.empty() ? text : fmt::format(" ({}{})", before, text);
}

/// A question that nobody answers to the program: it waits until the reader goes on, if there is one.
void ask() {
  fmt::print("What do you expect: right numbers, wrong ones, a fault, or no end?");
  std::fflush(stdout);
  if (isatty(0) && isatty(1)) {
    fmt::print(" [Enter] ");
    std::fflush(stdout);
    std::string line;
    std::getline(std::cin, line);
    fmt::print("\n");
  } else {
    fmt::print("\n\n");
  }
}

int teach_on_hardware(const Mistake& m) {
  if (!m.safe) {
    fmt::print("{}\nIt is not run here: on a GPU it may hang or fault. Run it on tinygpu: GEN5_DEVICE=tinygpu.\n",
               wrapped(m.why));
    return 0;
  }
  fmt::print("On this GPU nobody watches. It runs once; what it does is no promise.\n\n");
  const Outcome wrong = run_in(m, true, nullptr);
  print_outcomes({wrong});
  print_difference(m, {wrong});
  fmt::print("{}\n", moral(m));
  const Outcome right = run_in(m, false, nullptr);
  print_outcomes({right});
  const std::string bad = not_fixed({right});
  fmt::print("{}\n", bad.empty() ? "The right kernel is right here." : "The right kernel is NOT right here: " + bad);
  return bad.empty() ? 0 : 1;
}

}  // namespace

Table table_of(std::span<const Mistake> mistakes) {
  Table t({"mistake", "tinygpu says", "an H200", "what is wrong"}, 4);
  for (const Mistake& m : mistakes)
    t.row({m.name, m.says + remark("silent: ", m.silent) + remark("", m.set), !m.h200.empty() ? m.h200 : "not tried",
           m.title});
  return t;
}

int teach(const Mistake& m) {
  fmt::print("The right kernel, with this changed:\n\n{}\n", shown(m, false));
  ask();
  if (!current_device().tinygpu) return teach_on_hardware(m);

  const std::vector<Outcome> wrong = run_in_all(m, true);
  fmt::print("It runs as timed, with all effects as late as is allowed, and with them in a random order{}:\n\n",
             m.set.empty() ? "" : fmt::format(", with {}", m.set));
  print_outcomes(wrong);
  if (m.says != kNotYet && std::ranges::any_of(wrong, &Outcome::numbers_right) &&
      !std::ranges::all_of(wrong, &Outcome::numbers_right))
    fmt::print(
        "{}\n",
        wrapped("Where the numbers are right, they are so by luck: the effects happened to land in time. In order "
                "late nothing lands before every warp waits, and then all that is in flight does."));
  fmt::print("On silicon: {}\n\n",
             m.h200.empty()
                 ? "not tried."
                 : fmt::format("an H200 (driver 580.159.04): {}.{}", m.h200,
                               m.h200.find("scripted") == std::string::npos
                                   ? ""
                                   : " Scripted: a case of tests/conformance with the same fault, not this kernel."));
  if (promises_nothing(m)) {
    print_difference(m, wrong);
  } else {
    fmt::print("What tinygpu says:\n\n");
    print_diagnoses(m, wrong);
  }
  const bool short_one = of_one_line(m);
  if (!short_one) fmt::print("{}\n", moral(m));
  const std::vector<Outcome> right = run_in_all(m, false);
  fmt::print("The right kernel in the same orders:\n\n");
  print_outcomes(right);

  std::string bad = broken_promise(m, wrong);
  if (bad.empty()) {
    bad = not_fixed(right);
    if (!bad.empty()) bad = "the right kernel is not right: " + bad;
  }
  if (!bad.empty()) {
    fmt::print("NOT diagnosed as promised: {}\n", bad);
    for (const Outcome& o : wrong) fmt::print("\n{}:\n{}", o.order, o.diagnoses);
    return 1;
  }
  if (m.says == kNotYet)
    fmt::print("not diagnosed yet: nothing above names the mistake\n");
  else if (m.says == kWrongNumbers)
    fmt::print("wrong numbers, as promised: every rule is kept, and only a comparison finds this\n");
  else
    fmt::print("diagnosed as promised\n");
  if (short_one) fmt::print("\n{}", moral(m));
  return 0;
}

int run_kernel_of(const Mistake& m, bool wrong) {
  try {
    const Verdict verdict = wrong ? m.wrong() : m.right();
    fmt::print("{} numbers\n{}{}", verdict ? "right" : "wrong", verdict.difference(),
               verdict.difference().empty() ? "" : "\n");
    return verdict ? kRight : kWrong;
  } catch (const CudaError& e) {
    fmt::print("{}\n", cudaGetErrorString(e.code));
    return kStopped;
  } catch (const std::exception& e) {
    fmt::print("{}\n", e.what());
    return kStopped;
  }
}

}  // namespace gen5::harness

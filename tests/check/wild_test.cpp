// Bugs that really happened, made again from their reports (tests/check/wild/*.ptx, and wild_second/, which was chosen
// and measured when the checks were done): what the check and a plain run say of each, and that the mended twin is
// silent.
//
// A file begins with comments: the report's address; what went wrong; `kernel:` with words among threads=N, ctas=N,
// clusters=N, tensor, hopper, map (%m is that of 64 rows of 16 f16), bare (no cluster barrier at the beginning);
// `says:` the rule that names the bug; `check:` and `run:` whether gen5 check and a plain run say so at the right line
// (yes, no). Then comes the body of a Kernel (kernel.h). Lines that end in //- are the bug's alone, those that end in
// //+ the twin's, and //! marks where it should be told (//-! is both). "WAIT guard offset parity" is a loop over
// try_wait.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/check/kernel.h"

namespace tinygpu::test::wild_test {
namespace {

struct Case {
  std::string name, report, says;
  bool check = false, run = false;
  Kernel bug, twin;
  std::vector<std::string> lines;  // where it should be told, as PTX
};

std::string trimmed(const std::string& s) {
  const size_t a = s.find_first_not_of(" \t"), b = s.find_last_not_of(" \t;");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

std::string without_guard(const std::string& line) {
  const std::string s = trimmed(line);
  return s.starts_with("@") ? trimmed(s.substr(s.find(' ') + 1)) : s;
}

std::string without_entry_barrier(std::string text) {
  const std::string barrier = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
  return text.replace(text.find(barrier), barrier.size(), "");
}

void read_kernel(Case& c, const std::string& words) {
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    const size_t equals = word.find('=');
    const uint32_t n = equals == std::string::npos ? 0 : uint32_t(std::stoul(word.substr(equals + 1)));
    for (Kernel* k : {&c.bug, &c.twin}) {
      if (word.starts_with("threads=")) k->threads = n;
      if (word.starts_with("ctas=")) k->ctas = n;
      if (word.starts_with("clusters=")) k->clusters = n;
      if (word == "tensor") k->tensor = true;
      if (word == "hopper") k->hopper = true;
      if (word == "map") k->maps = {matrix_map(6, {16, 64}, 32, {16, 64})};
      if (word == "bare") k->change = without_entry_barrier;
    }
  }
}

/// A line of PTX for "WAIT guard offset parity".
std::string expanded(const std::string& code) {
  std::istringstream in(code);
  std::string word, guard;
  int offset = 0, parity = 0;
  if (in >> word && word == "WAIT" && in >> guard >> offset >> parity) return wait(guard, offset, parity);
  return code + "\n";
}

Case read(const std::filesystem::path& path) {
  Case c;
  c.name = path.stem().string();
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto header = [&](const char* key) {
      return line.starts_with("// " + std::string(key)) ? trimmed(line.substr(3 + std::string(key).size())) : "";
    };
    if (line.starts_with("// https://")) c.report = line.substr(3);
    if (const std::string words = header("kernel:"); !words.empty()) read_kernel(c, words);
    if (const std::string code = header("says:"); !code.empty()) c.says = code;
    if (const std::string yes = header("check:"); !yes.empty()) c.check = yes == "yes";
    if (const std::string yes = header("run:"); !yes.empty()) c.run = yes == "yes";
    if (line.starts_with("//")) continue;
    const size_t mark = line.find("//");
    const std::string marks = mark == std::string::npos ? "" : line.substr(mark + 2, 2);
    const std::string code = expanded(line.substr(0, mark));
    if (marks[0] != '+') c.bug.body += code;
    if (marks[0] != '-') c.twin.body += code;
    if (marks.find('!') == std::string::npos) continue;
    std::istringstream instructions(code);
    for (std::string one; std::getline(instructions, one);)
      if (!trimmed(one).empty())
        c.lines.push_back(without_guard(one.substr(one.find(": ") == std::string::npos ? 0 : one.find(": ") + 2)));
  }
  return c;
}

std::vector<std::filesystem::path> all_files() {
  std::vector<std::filesystem::path> out;
  for (const char* folder : {"/tests/check/wild", "/tests/check/wild_second"})
    for (const auto& entry : std::filesystem::directory_iterator(GEN5_SOURCE_DIR + std::string(folder)))
      if (entry.path().extension() == ".ptx") out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

/// What is told of a bug at one of the lines.
bool told(const Case& c, const std::vector<Diagnosis>& all) {
  const auto there = [&](const Where& w) {
    return std::ranges::any_of(c.lines, [&](const std::string& l) { return without_guard(w.ptx_text) == l; });
  };
  return std::ranges::any_of(all, [&](const Diagnosis& d) {
    if (d.code != c.says || d.severity == Severity::note) return false;
    return there(d.where) || std::ranges::any_of(d.others, [&](const LabelledPlace& p) { return there(p.where); });
  });
}

using Mode = CompletionOrder::Mode;

class Wild : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Wild, IsToldAndItsTwinIsSilent) {
  const Case c = read(GetParam());
  ASSERT_FALSE(c.report.empty());
  ASSERT_FALSE(c.says.empty());
  ASSERT_FALSE(c.lines.empty());
  std::vector<CompletionOrder> orders = {{Mode::timed, 0}, {Mode::late, 0}};
  for (uint64_t seed = 1; seed <= 20; ++seed) orders.push_back({Mode::seeded, seed});
  bool by_check = false;
  std::string said;
  for (size_t i = 0; i < 7 && !by_check; ++i) {
    Kernel bug = c.bug;
    bug.order = orders[i];
    const auto all = bug.outcome(checks::Level::races);
    by_check = told(c, all);
    if (i == 0)
      for (const Diagnosis& d : all) said += diagnosis::render(d, {.general = false});
  }
  EXPECT_EQ(by_check, c.check) << said;
  Kernel plain = c.bug;
  const auto run = plain.outcome(checks::Level::quick);
  std::string ran;
  for (const Diagnosis& d : run) ran += diagnosis::render(d, {.general = false});
  EXPECT_EQ(told(c, run), c.run) << ran;
  for (const CompletionOrder& order : orders)
    for (const auto level : {checks::Level::races, checks::Level::quick}) {
      Kernel twin = c.twin;
      twin.order = order;
      for (const Diagnosis& d : twin.outcome(level))
        ASSERT_TRUE(d.severity == Severity::note || d.code.ends_with("-uninitialised")) << diagnosis::render(d);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Wild, ::testing::ValuesIn(all_files()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace tinygpu::test::wild_test

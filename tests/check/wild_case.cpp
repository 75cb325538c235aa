#include "tests/check/wild_case.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tinygpu::test {
namespace {

std::string trimmed(const std::string& s) {
  const size_t a = s.find_first_not_of(" \t"), b = s.find_last_not_of(" \t;");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

std::string without_entry_barrier(std::string text) {
  const std::string barrier = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
  return text.replace(text.find(barrier), barrier.size(), "");
}

void read_kernel(WildCase& c, const std::string& words) {
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

}  // namespace

std::string without_guard(const std::string& line) {
  const std::string s = trimmed(line);
  return s.starts_with("@") ? trimmed(s.substr(s.find(' ') + 1)) : s;
}

WildCase read_wild_case(const std::filesystem::path& path) {
  WildCase c;
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

std::vector<std::filesystem::path> wild_files() {
  std::vector<std::filesystem::path> out;
  for (const char* folder : {"/tests/check/wild", "/tests/check/wild_second"})
    for (const auto& entry : std::filesystem::directory_iterator(GEN5_SOURCE_DIR + std::string(folder)))
      if (entry.path().extension() == ".ptx") out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

}  // namespace tinygpu::test

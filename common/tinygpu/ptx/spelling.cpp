#include "common/tinygpu/ptx/spelling.h"

#include <algorithm>
#include <cctype>

namespace tinygpu::ptx {

namespace {

// Families whose `.sync` belongs to the name, wherever it stands.
constexpr std::string_view kSyncFamilies[] = {"shfl", "vote", "match", "redux", "elect", "mma"};

constexpr size_t kLongestOpcode = 5;  // words of cp.reduce.async.bulk.tensor

/// "wait::ld" → "wait", "ld".
void split_at_colons(std::vector<std::string>& words, size_t i) {
  const size_t colons = words[i].find("::");
  if (colons == std::string::npos) return;
  std::string rest = words[i].substr(colons + 2);
  words[i].resize(colons);
  words.insert(words.begin() + ptrdiff_t(i) + 1, std::move(rest));
}

}  // namespace

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> words;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i)
    if (i == text.size() || text[i] == at) {
      words.emplace_back(text.substr(start, i - start));
      start = i + 1;
    }
  return words;
}

std::string_view space_named(const std::vector<std::string>& mods) {
  for (const std::string& m : mods) {
    if (m == "global" || m == "local" || m == "const") return m;
    if (m == "shared" || m == "shared::cta" || m == "shared::cluster") return "shared";
    if (m == "param" || m == "param::entry" || m == "param::func") return "param";
  }
  return "generic";
}

Spelling cut_spelling(std::string_view written) {
  Spelling s;
  std::string_view body = written;
  // Comments and white space may stand before a '.'.
  if (std::any_of(body.begin(), body.end(), [](unsigned char c) { return std::isspace(c) || c == '/'; })) {
    for (size_t i = 0; i < written.size(); ++i) {
      if (written[i] == '/' && i + 1 < written.size() && written[i + 1] == '/') {
        while (i < written.size() && written[i] != '\n') ++i;
      } else if (written[i] == '/' && i + 1 < written.size() && written[i + 1] == '*') {
        i = std::min(written.find("*/", i + 2), written.size() - 2) + 1;
      } else if (!std::isspace(static_cast<unsigned char>(written[i]))) {
        s.text += written[i];
      }
    }
  } else {
    s.text = body;
  }
  std::vector<std::string> words = split(s.text, '.');
  if (words.size() > 1) {
    if (words[0] == "tcgen05") split_at_colons(words, 1);
    if (words[0] == "mma" && words[1].starts_with("sp::")) split_at_colons(words, 1);
  }
  if (std::ranges::find(kSyncFamilies, words[0]) != std::end(kSyncFamilies)) {
    const auto sync = std::find(words.begin() + 1, words.end(), "sync");
    if (sync != words.end()) {
      const size_t at = words[0] == "mma" && words[1] == "sp" ? 2 : 1;
      std::rotate(words.begin() + ptrdiff_t(at), sync, sync + 1);
    }
  }
  size_t length = std::min(words.size(), kLongestOpcode);
  for (; length > 0; --length) {
    std::string candidate = words[0];
    for (size_t i = 1; i < length; ++i) candidate += "." + words[i];
    s.opcode = opcode_from_name(candidate);
    if (s.opcode != Opcode::unknown) {
      s.name = std::move(candidate);
      break;
    }
  }
  if (s.opcode == Opcode::unknown) {
    s.name = words[0];
    length = 1;
  }
  s.mods.assign(words.begin() + ptrdiff_t(length), words.end());
  if (s.text.size() == written.size()) {
    // Modifiers keep their order, but for a `sync` that moved into the opcode.
    size_t from = 0;
    for (const std::string& m : s.mods) {
      size_t at = s.text.find(m, from);
      while (at != std::string::npos && at > 0 && s.text[at - 1] != '.' && s.text[at - 1] != ':')
        at = s.text.find(m, at + 1);
      if (at == std::string::npos || at == 0) {
        s.columns.clear();
        break;
      }
      s.columns.push_back(uint32_t(at - 1));
      from = at + m.size();
    }
  }
  for (const std::string& m : s.mods)
    if (const Type t = type_from_name(m); t != Type::none) s.types.push_back(t);
  return s;
}

}  // namespace tinygpu::ptx

// Mutations that leave most of a PTX text legal: statements come and go, tokens are exchanged for others of their kind,
// legal instructions are put in. Half of the time libFuzzer's own mutations of bytes.
#include <algorithm>
#include <cctype>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ptx/ptx_text.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using Random = std::minstd_rand;

struct Piece {
  size_t at, size;
};

/// Statements with the character that ends them: ';', '{', '}' or the line's end.
std::vector<Piece> statements(std::string_view text) {
  std::vector<Piece> out;
  size_t from = 0;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == ';' || text[i] == '{' || text[i] == '}' || text[i] == '\n') {
      out.push_back({from, i + 1 - from});
      from = i + 1;
    }
  if (from < text.size()) out.push_back({from, text.size() - from});
  return out;
}

enum class Kind { name, number, modifier, other };
struct Token : Piece {
  Kind kind;
};

std::vector<Token> tokens(std::string_view text) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; };
  std::vector<Token> out;
  for (size_t i = 0; i < text.size();) {
    const size_t from = i;
    const char c = text[i++];
    if (std::isspace(static_cast<unsigned char>(c))) continue;
    if (word(c) || c == '%' || c == '.' || c == '-')
      while (i < text.size() && (word(text[i]) || (text[i] == ':' && i + 1 < text.size() && text[i + 1] == ':') ||
                                 (text[i] == ':' && text[i - 1] == ':')))
        ++i;
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) || (c == '-' && i - from > 1);
    out.push_back({{from, i - from},
                   digit                 ? Kind::number
                   : c == '.'            ? Kind::modifier
                   : c == '%' || word(c) ? Kind::name
                                         : Kind::other});
  }
  return out;
}

const char* const kNumbers[] = {"0",
                                "1",
                                "-1",
                                "2",
                                "3",
                                "7",
                                "8",
                                "15",
                                "16",
                                "31",
                                "32",
                                "33",
                                "63",
                                "64",
                                "127",
                                "128",
                                "255",
                                "256",
                                "512",
                                "1023",
                                "1024",
                                "65535",
                                "65536",
                                "0x7fffffff",
                                "0x80000000",
                                "0xffffffff",
                                "4294967296",
                                "0x7fffffffffffffff",
                                "0x8000000000000000",
                                "0xffffffffffffffff",
                                "-9223372036854775808",
                                "0f7f800000",
                                "0fffffffff",
                                "0d7ff0000000000000"};

const std::vector<std::string>& instructions() {
  static const std::vector<std::string> lines = tinygpu::ptx::read_lines("accepted_forms.txt.zst");
  return lines;
}

std::string mutate(std::string text, Random& random) {
  const auto below = [&](size_t n) { return size_t(random()) % std::max<size_t>(n, 1); };
  const std::vector<Piece> parts = statements(text);
  const std::vector<Token> words = tokens(text);
  if (parts.empty() || words.empty()) return text;
  const Piece a = parts[below(parts.size())], b = parts[below(parts.size())];
  const Token& w = words[below(words.size())];
  switch (below(8)) {
    case 0: return text.insert(b.at, text.substr(a.at, a.size));
    case 1: return text.erase(a.at, a.size);
    case 2: return text.replace(b.at, b.size, text.substr(a.at, a.size));
    case 3: return text.insert(a.at, instructions()[below(instructions().size())]);
    case 4: return text.replace(a.at, a.size, instructions()[below(instructions().size())] + "\n");
    case 5: return text.insert(a.at, "@%p" + std::to_string(below(3)) + " ");
    default: {
      std::vector<const Token*> kin;
      for (const Token& t : words)
        if (t.kind == w.kind) kin.push_back(&t);
      const Token& other = *kin[below(kin.size())];
      if (w.kind == Kind::number && below(2)) return text.replace(w.at, w.size, kNumbers[below(std::size(kNumbers))]);
      return text.replace(w.at, w.size, text.substr(other.at, other.size));
    }
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random(seed + 1);
  if (random() % 2) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (unsigned rounds = 1 + unsigned(random()) % 3; rounds; --rounds) text = mutate(std::move(text), random);
  text.resize(std::min(text.size(), max_size));
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(data));
  return text.size();
}

#include "common/tinygpu/debug/debug_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <stdexcept>
#include <vector>

#include "common/tinygpu/ptx/lexer.h"

namespace tinygpu::debug {
namespace {

constexpr uint64_t kFirstSymbol = uint64_t(1) << 56, kSymbolBytes = uint64_t(1) << 32;

/// A label is the first word of its line.
std::optional<std::string_view> label_of(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == line.npos) return {};
  size_t end = begin;
  while (end < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_' || line[end] == '$'))
    ++end;
  if (end == begin || end == line.size() || line[end] != ':' || line.substr(end).starts_with("::")) return {};
  return line.substr(begin, end - begin);
}

class Reader {
 public:
  explicit Reader(const std::string& ptx) {
    constexpr std::string_view kSection = ".section";
    const std::string_view all = ptx;
    uint64_t number = 1;
    for (size_t at = 0; at < all.size(); ++number) {
      const size_t end = std::min(all.find('\n', at), all.size());
      const std::string_view line = all.substr(at, end - at);
      if (const size_t word = line.find_first_not_of(" \t");
          word != line.npos && line.substr(word).starts_with(kSection)) {
        const size_t close = std::min(all.find('}', at), all.size());
        section(all.substr(at + word + kSection.size()));
        for (const char c : all.substr(end, close - end)) number += c == '\n';
        at = close + 1;
        --number;
        continue;
      }
      if (const auto label = label_of(line)) values_[std::string(*label)] = number;
      at = end + 1;
    }
  }

  DebugSections finish() {
    for (const auto& [name, none] : out_.bytes) values_.try_emplace(name, 0);
    for (const Field& f : fields_) {
      uint64_t value = 0;
      for (const Term& t : f.terms) value += t.negative ? -value_of(t) : value_of(t);
      std::string& bytes = out_.bytes[f.section];
      for (uint32_t k = 0; k < f.size; ++k) bytes[f.at + k] = char(value >> (8 * k));
    }
    return std::move(out_);
  }

 private:
  struct Term {
    bool negative = false;
    std::string name;  // "": a number
    uint64_t number = 0;
  };
  struct Field {
    std::string section;
    size_t at = 0;
    uint32_t size = 0;
    std::vector<Term> terms;
  };

  void section(std::string_view text) {
    ptx::Lexer lexer(text);
    const std::string name(lexer.next().text);
    if (!lexer.next().is('{')) throw std::runtime_error(fmt::format("the section {} has no bytes", name));
    std::string& bytes = out_.bytes[name];
    const auto append = [&bytes](uint64_t value, uint32_t size) {
      for (uint32_t k = 0; k < size; ++k) bytes += char(value >> (8 * k));
    };
    uint32_t size = 0;
    bool sum = false;  // what comes next may be added to the name before it
    char sign = 0;     // and is
    const bool closed = lexer.skip_block([&](const ptx::Token& t) {
      if (t.is(".b8") || t.is(".b16") || t.is(".b32") || t.is(".b64")) {
        size = uint32_t(std::stoul(std::string(t.text.substr(2)))) / 8;
        sum = false;
      } else if (sum && (t.is('+') || t.is('-'))) {
        sign = t.text[0];
      } else if (sum && t.is(':')) {
        // The name before it was no value, but a label.
        const Field& label = fields_.back();
        bytes.resize(label.at);
        values_[label.terms[0].name] = label.at;
        fields_.pop_back();
        sum = false;
      } else if (const bool number = t.kind == ptx::Token::Kind::integer; number || t.ident() || t.directive()) {
        const Term term{sign == '-', number ? std::string() : std::string(t.text), t.bits};
        if (sum && sign) {
          fields_.back().terms.push_back(term);
        } else if (number) {
          append(t.bits, size);
        } else {
          fields_.push_back({name, bytes.size(), size, {term}});
          append(0, size);
          sum = true;
        }
        sign = 0;
      } else {
        sum = false;
      }
    });
    if (!closed) throw std::runtime_error(fmt::format("the section {} is never closed", name));
  }

  uint64_t value_of(const Term& t) {
    if (t.name.empty()) return t.number;
    const auto [it, fresh] = values_.try_emplace(t.name, kFirstSymbol + out_.symbols.size() * kSymbolBytes);
    if (fresh) out_.symbols[it->second] = t.name;
    return it->second;
  }

  DebugSections out_;
  std::vector<Field> fields_;
  std::map<std::string, uint64_t> values_;  // of labels and variables
};

}  // namespace

DebugSections::Symbol DebugSections::symbol(uint64_t address) const {
  auto it = symbols.upper_bound(address);
  if (it == symbols.begin() || address - (--it)->first >= kSymbolBytes) return {};
  return {it->second, address - it->first};
}

DebugSections debug_sections(const std::string& ptx) {
  try {
    return Reader(ptx).finish();
  } catch (const ptx::Failure& f) {
    throw std::runtime_error(f.message.text);
  }
}

}  // namespace tinygpu::debug

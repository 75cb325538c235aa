#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace gen5::fuzz {

namespace {

constexpr size_t kLongestPiece = 32;

/// Overwrites up to `size` bytes at `at`.
void put(std::string& s, size_t at, const void* bytes, size_t size) {
  if (at < s.size()) std::memcpy(s.data() + at, bytes, std::min(size, s.size() - at));
}

}  // namespace

std::string mutate_bytes(std::string s, const std::string& other, Random& random) {
  const auto below = [&](size_t n) { return n ? size_t(random()) % n : 0; };
  for (size_t rounds = 1 + below(4); rounds; --rounds) {
    const size_t at = below(s.size() + 1);
    switch (below(7)) {
      case 0:
        if (at < s.size()) s[at] = char(s[at] ^ 1 << below(8));
        break;
      case 1:
        if (at < s.size()) s[at] = char(random());
        break;
      case 2: s.insert(at, 1 + below(8), char(random())); break;
      case 3: s.erase(at, 1 + below(kLongestPiece)); break;
      case 4: s.insert(at, s.substr(below(s.size() + 1), 1 + below(kLongestPiece))); break;
      case 5: {
        const std::string piece = other.substr(below(other.size() + 1), 1 + below(kLongestPiece));
        put(s, at, piece.data(), piece.size());
        break;
      }
      default: {
        const uint64_t power = uint64_t(1) << below(64);
        const uint64_t number[] = {power, power - 1, uint64_t(0) - power, uint64_t(0) - below(256)};
        put(s, at, &number[below(4)], size_t(1) << below(4));
      }
    }
  }
  return s;
}

}  // namespace gen5::fuzz

// One number for many words of results.
#pragma once
#include <cstddef>
#include <cstdint>

namespace conformance {

/// FNV-1a over whole words; the shift lets upper bits reach the lower ones.
template <class Word>
uint64_t hash_words(const Word* words, size_t count) {
  uint64_t h = 0xcbf29ce484222325;
  for (size_t i = 0; i < count; ++i) {
    h ^= words[i];
    h *= 0x100000001b3;
    h ^= h >> 29;
  }
  return h;
}

}  // namespace conformance

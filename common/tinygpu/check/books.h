// What a check knows of each CTA, kept by partition, so that the host threads that advance partitions do not meet.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::checks {

template <class Book>
class CtaBooks {
 public:
  /// A launch begins: nothing is known.
  void clear(const Launch& launch) {
    parts_.clear();
    parts_.resize(launch.partitions().size());
  }
  /// The book of `cta`, or null if none has been opened.
  Book* find(const Cta& cta) {
    Part& part = parts_[cta.cluster.partition.index];
    Recent& recent = part.recent[reinterpret_cast<uintptr_t>(&cta) / sizeof(Cta) % part.recent.size()];
    if (recent.cta == &cta) return recent.book;
    const auto it = part.books.find(&cta);
    recent = {&cta, it == part.books.end() ? nullptr : it->second.get()};
    return recent.book;
  }
  const Book* find(const Cta& cta) const {
    const auto& books = parts_[cta.cluster.partition.index].books;
    const auto it = books.find(&cta);
    return it == books.end() ? nullptr : it->second.get();
  }
  Book& of(const Cta& cta) {
    if (Book* book = find(cta)) return *book;
    Part& part = parts_[cta.cluster.partition.index];
    part.recent = {};
    return *(part.books[&cta] = std::make_unique<Book>());
  }
  void close(const Cta& cta) {
    Part& part = parts_[cta.cluster.partition.index];
    part.recent = {};
    part.books.erase(&cta);
  }

 private:
  struct Recent {
    const Cta* cta = nullptr;
    Book* book = nullptr;
  };
  struct alignas(64) Part {
    std::unordered_map<const Cta*, std::unique_ptr<Book>> books;
    std::array<Recent, 8> recent;  // looked up last
  };
  std::vector<Part> parts_;
};

}  // namespace tinygpu::checks

// A picture of a space: for each tile how many of its points which rule takes out, and how fast the legal ones are.
#pragma once
#include <string>
#include <vector>

#include "common/tinygpu/search/search.h"

namespace tinygpu::search {

struct Landscape {
  struct Tile {
    uint16_t m = 0, n = 0;
    uint64_t points = 0, legal = 0;
    std::vector<uint64_t> pruned;        // by rule, in the order of Landscape::rules
    std::vector<Estimate> sampled = {};  // of legal points at random, by cycles
  };
  std::vector<const Rule*> rules;
  std::vector<Tile> tiles;  // the one with the fastest point first; those without legal points last
  Estimate best;            // of those that were sampled
};

/// Of each tile up to `each` legal points, by chance; the same for the same seed.
Landscape landscape(const Space& space, const MachineSpec& spec, const Problem& problem, uint32_t each, uint64_t seed);

/// An SVG document. `title` says of what.
std::string svg(const Landscape& l, const MachineSpec& spec, const std::string& title);
/// A page of its own: what a search has said, and the picture.
std::string page(const std::string& title, const std::string& said, const std::string& picture);

}  // namespace tinygpu::search

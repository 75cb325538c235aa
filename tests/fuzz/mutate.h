// Random changes of an input's bytes, where libFuzzer's own are not at hand.
#pragma once
#include <random>
#include <string>
#include <vector>

namespace gen5::fuzz {

using Random = std::minstd_rand;

/// A few changes: bits, bytes, numbers that matter, pieces removed, repeated or taken from `other`.
std::string mutate_bytes(std::string input, const std::string& other, Random& random);

}  // namespace gen5::fuzz

// The projects' results in float64. Each check throws std::runtime_error with the first element that is too far away:
// where it is, what it is, and what it should be. Large problems are checked in a sample that reaches every row.
#pragma once
#include <cstdint>
#include <vector>

namespace project {

void check_gemm(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, const std::vector<float>& d, uint32_t m,
                uint32_t n, uint32_t k);
void check_mlp(const std::vector<uint16_t>& x, const std::vector<uint16_t>& up, const std::vector<uint16_t>& down,
               const std::vector<float>& y, uint32_t tokens, uint32_t hidden);
void check_decode(const std::vector<uint16_t>& q, const std::vector<uint16_t>& k, const std::vector<uint16_t>& v,
                  const std::vector<uint32_t>& lengths, const std::vector<float>& o, uint32_t heads, uint32_t most);

}  // namespace project

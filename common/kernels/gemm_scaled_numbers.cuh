// ---- Operands with block scales: they are 1 and 2, so that products stay exact.

constexpr uint32_t kPacked = kScaledKind == layout::ScaledKind::mxf8f6f4 ? 1 : 2;  // elements of an In

/// The scale of element `k` of a row, as a power of two. matrix: 0 is A, 1 B.
uint32_t scale_of(uint32_t matrix, uint64_t row, uint32_t k) {
  uint64_t z = (row << 24 | uint64_t(k / layout::block_of(kScaledKind)) << 1 | matrix) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  return uint32_t(z >> 40 & 1);
}

/// The scales of `rows` rows of `k` elements on device memory, chunk by chunk; those beyond the matrix are zeros.
uint8_t* make_scales(uint32_t matrix, uint32_t rows, uint32_t k) {
  constexpr uint32_t kOf = layout::block_of(kScaledKind), kOne = kScales == 4 ? 0x38 : 127,
                     kTwo = kScales == 4 ? 0x40 : 128;  // ue4m3 or ue8m0
  const uint32_t chunks = layout::ceil_div(k / kPacked, kBlockBytes) * kChunks;
  std::vector<uint8_t> host(size_t(layout::ceil_div(rows, 128u)) * chunks * layout::kScaleChunk);
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t j = 0; j * kOf < k; ++j)
      host[(size_t(r / 128) * chunks + j / 4) * layout::kScaleChunk + layout::scale_offset(r % 128, j % 4)] =
          uint8_t(scale_of(matrix, r, j * kOf) ? kTwo : kOne);
  uint8_t* p = nullptr;
  CHECK(cudaMalloc(&p, host.size()));
  CHECK(cudaMemcpy(p, host.data(), host.size(), cudaMemcpyHostToDevice));
  return p;
}

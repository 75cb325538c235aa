// ---- What the host side of every kernel needs: calls that may fail, and the maker of tensor maps.

#ifndef CHECK
#define CHECK(call)                                                                                  \
  do {                                                                                               \
    if (const auto code = (call); int(code) != 0) {                                                  \
      std::fprintf(stderr, "%s:%d: %s failed with code %d\n", __FILE__, __LINE__, #call, int(code)); \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (0)
#endif

/// cuTensorMapEncodeTiled, without linking the driver.
decltype(&cuTensorMapEncodeTiled) encode_tiled() {
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  }();
  return encode;
}

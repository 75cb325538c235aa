// ---- The program: multiplies problems, checks the results, and measures the time.
//
// Operands are whole numbers from -3 to 3, so every product and every sum is exact in f32 and each bit of D is known,
// in whatever order the parts are added.

constexpr size_t kPeriod = 1'000'003;  // elements of the pattern that A and B repeat, each from a place of its own
constexpr size_t kGuard = 4096;        // elements behind D that must stay as they are

int number(size_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  return int((z >> 32) % 7) - 3;
}

uint32_t encoded(int value) {
  constexpr uint32_t kBf16[] = {0, 0x3f80, 0x4000, 0x4040}, kF16[] = {0, 0x3c00, 0x4000, 0x4200},
                     kE4m3[] = {0, 0x38, 0x40, 0x44}, kE2m1[] = {0, 2, 4, 5};
  const uint32_t size = uint32_t(value < 0 ? -value : value);
  const uint32_t bits = kPacked == 2          ? kE2m1[size]
                        : kTypeName[0] == 'b' ? kBf16[size]
                        : kTypeName[0] == 'f' ? kF16[size]
                                              : kE4m3[size];
  return bits | (value < 0 ? 1u << (8 * sizeof(In) / kPacked - 1) : 0);
}

/// In number `i` of the pattern: an element, or two, the first in the low half.
In element(size_t i) {
  uint32_t bits = 0;
  for (uint32_t half = 0; half < kPacked; ++half) bits |= encoded(number(i * kPacked + half)) << (half * 4);
  return In(bits);
}

/// A whole number as D holds it, rounded to nearest even.
uint32_t as_output(int64_t exact) {
  const float f = float(exact);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  if (sizeof(Out) == 4) return bits;
  if (kOutType == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16) return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  if ((bits & 0x7fffffff) == 0) return bits >> 16;
  const uint32_t magnitude = (bits & 0x7fffffff) - (112u << 23);  // whole numbers are no subnormals
  const uint32_t rounded = (magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13;
  return std::min(rounded, 0x7c00u) | (bits >> 16 & 0x8000);
}

/// A matrix of `count` elements that repeats the pattern from `first` on.
In* make_matrix(size_t count, size_t first, const std::vector<In>& pattern) {
  In* p = nullptr;
  CHECK(cudaMalloc(&p, count * sizeof(In)));
  for (size_t done = 0; done < count;) {
    const size_t from = (first + done) % kPeriod, part = std::min(count - done, kPeriod - from);
    CHECK(cudaMemcpy(p + done, pattern.data() + from, part * sizeof(In), cudaMemcpyHostToDevice));
    done += part;
  }
  return p;
}

/// Compares D with the exact product: all of it if that is little work, else its corners and a sample.
bool check(const Problem& p, size_t first_b, uint64_t& compared) {
  std::vector<Out> d(size_t(p.m) * p.n + kGuard);
  CHECK(cudaMemcpy(d.data(), p.d, d.size() * sizeof(Out), cudaMemcpyDeviceToHost));
  constexpr size_t kNumbers = kPeriod * kPacked;
  std::vector<int8_t> numbers(kNumbers);
  for (size_t i = 0; i < kNumbers; ++i) numbers[i] = int8_t(number(i));
  uint64_t wrong = 0;
  const auto one = [&](uint32_t row, uint32_t column) {
    int64_t sum = 0;
    size_t a = size_t(row) * p.k % kPeriod * kPacked, b = (first_b + size_t(column) * p.k) % kPeriod * kPacked;
    for (uint32_t i = 0; i < p.k * kPacked; ++i) {
      sum += (numbers[a] * numbers[b]) * (1 << (scale_of(0, row, i) + scale_of(1, column, i)));
      if (++a == kNumbers) a = 0;
      if (++b == kNumbers) b = 0;
    }
    uint32_t got = 0;
    std::memcpy(&got, &d[size_t(row) * p.n + column], sizeof(Out));
    // Parts that are added may leave +0 where the exact sum is 0, and so does the exact product.
    if (got != as_output(sum) && wrong++ == 0)
      std::printf("D[%u][%u] is 0x%x, and the exact product 0x%x\n", row, column, got, as_output(sum));
    ++compared;
  };
  if (double(p.m) * p.n * p.k <= 4e8) {
    for (uint32_t r = 0; r < p.m; ++r)
      for (uint32_t c = 0; c < p.n; ++c) one(r, c);
  } else {
    for (uint32_t r : {0u, p.m - 1})
      for (uint32_t c : {0u, p.n - 1}) one(r, c);
    uint64_t random = 1;
    for (int i = 0; i < 20000; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      one(uint32_t(random >> 33) % p.m, uint32_t(random >> 13) % p.n);
    }
  }
  const std::vector<uint8_t> untouched(kGuard * sizeof(Out), 0xff);
  if (std::memcmp(&d[size_t(p.m) * p.n], untouched.data(), untouched.size()) != 0) {
    std::printf("something was written behind D\n");
    return false;
  }
  return wrong == 0;
}

int usage(const char* wrong) {
  if (*wrong) std::fprintf(stderr, "%s is not taken\n", wrong);
  std::fprintf(*wrong ? stderr : stdout,
               "options: --problem MxNxK (several; default %ux%ux%u) --repeat N (timed launches, default 11)\n"
               "         --no-check --csv --info --tiles N (only so many cluster tiles; then nothing is checked)\n",
               kDefault.m, kDefault.n, kDefault.k);
  return *wrong ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Size> sizes;
  int repeat = 11;
  uint32_t tiles = 0;
  bool checks = true, csv = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    Size s{};
    if (word == "--problem" && i + 1 < argc && std::sscanf(argv[i + 1], "%ux%ux%u", &s.m, &s.n, &s.k) == 3 && s.m &&
        s.n && s.k) {
      sizes.push_back(s);
      ++i;
    } else if (word == "--repeat" && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      repeat = std::atoi(argv[++i]);
    } else if (word == "--tiles" && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      tiles = uint32_t(std::atoi(argv[++i]));
      checks = false;
    } else if (word == "--no-check") {
      checks = false;
    } else if (word == "--csv") {
      csv = true;
    } else if (word == "--info") {
      std::printf("shared %zu\n", sizeof(Shared));
      return 0;
    } else {
      return usage(word == "--help" ? "" : argv[i]);
    }
  }
  if (sizes.empty()) sizes.push_back(kDefault);
  std::vector<In> pattern(kPeriod);
  for (size_t i = 0; i < kPeriod; ++i) pattern[i] = element(i);
  bool right = true;
  for (const Size& s : sizes) {
    if (s.k % kPacked || s.k / kPacked * sizeof(In) % 16 || s.n * sizeof(Out) % 16) {
      std::fprintf(stderr, "%ux%ux%u: TMA takes rows of a multiple of 16 bytes\n", s.m, s.n, s.k);
      return 2;
    }
    const size_t first_b = 500'009;
    const uint32_t k = s.k / kPacked;
    Problem p{make_matrix(size_t(s.m) * k, 0, pattern),
              make_matrix(size_t(s.n) * k, first_b, pattern),
              nullptr,
              s.m,
              s.n,
              k,
              tiles,
              make_scales(0, s.m, s.k),
              make_scales(1, s.n, s.k)};
    if (const size_t room = workspace_bytes(p)) {
      CHECK(cudaMalloc(&p.workspace, room));
      CHECK(cudaMemset(p.workspace, 0, room));
    }
    const size_t bytes = (size_t(s.m) * s.n + kGuard) * sizeof(Out);
    CHECK(cudaMalloc(&p.d, bytes));
    CHECK(cudaMemset(p.d, 0xff, bytes));
    float median, least, most;
    if (checks) launch(p);
    CHECK(cudaDeviceSynchronize());
    uint64_t compared = 0;
    const bool ok = !checks || check(p, first_b, compared);
    right = right && ok;
    measure(p, repeat, median, least, most);
    const double tflops = 2.0 * s.m * s.n * s.k / median * 1e-6;
    const char* verdict = !checks ? "not checked" : ok ? "right" : "wrong";
    if (csv)
      std::printf("%s,%u,%u,%u,%.3f,%.3f,%.3f,%s\n", kPoint, s.m, s.n, s.k, median, least, most, verdict);
    else
      std::printf("%u x %u x %u: %s (%llu elements), %.2f us (%.2f to %.2f), %.1f TFLOP/s\n", s.m, s.n, s.k, verdict,
                  static_cast<unsigned long long>(compared), median, least, most, tflops);
    std::fflush(stdout);
    for (void* used : {static_cast<void*>(p.a), static_cast<void*>(p.b), static_cast<void*>(p.d),
                       static_cast<void*>(p.a_scales), static_cast<void*>(p.b_scales), p.workspace})
      CHECK(cudaFree(used));
  }
  return right ? 0 : 1;
}

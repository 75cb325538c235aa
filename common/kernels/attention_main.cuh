// ---- The program: computes problems, checks the results, and measures the time.
//
// For the check, scores are small whole numbers and c is ln 2, so that every exponential is a power of two. Sums of
// them, also those weighted with V's whole numbers, are exact in f32 in any order, and so is what lies between two
// values of m. So each bit of O is known: the exact sum times 1 / the other, both rounded to f32, in bf16. Scores of
// the first quarter of the keys are low, so that m rises behind it by more than kSlack.

constexpr size_t kGuard = 4096;  // elements behind O that must stay as they are
constexpr uint32_t kMostScore = 6;

/// A pseudo-random number for each element of each matrix.
uint32_t random_of(uint64_t matrix, uint64_t row, uint32_t column) {
  uint64_t z = (matrix << 60) + row * kDim + column + 1;
  z *= 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  return uint32_t(z >> 32);
}

/// The largest score: so small that a sum over the keys has no more bits than f32.
uint32_t most_score(uint32_t keys) {
  uint32_t bits = 0;
  while ((uint64_t(1) << bits) < uint64_t(3) * keys) ++bits;
  return std::clamp((24 - bits) / 2, 1u, kMostScore);
}
/// Where a row of Q has its ones; it has zeros elsewhere.
uint32_t one_of(uint64_t row, uint32_t i, uint32_t most) {
  const uint32_t part = kDim / most;
  return i * part + random_of(0, row, i) % part;
}
int key_number(uint32_t keys, uint64_t row, uint32_t column) {
  const uint32_t random = random_of(1, row, column);
  if (row % keys < keys / 4) return random % 8 == 0 ? 0 : -1;
  return random % 4 == 3 ? 1 : int(random % 4) - 1;
}
int value_number(uint64_t row, uint32_t column) { return int(random_of(2, row, column) % 7) - 3; }

uint16_t encoded(int value) {
  constexpr uint16_t kBf16[] = {0, 0x3f80, 0x4000, 0x4040};
  return uint16_t(kBf16[value < 0 ? -value : value] | (value < 0 ? 0x8000 : 0));
}

uint16_t rounded(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// `rows` rows on device memory, of numbers that `number` makes.
template <class Number>
uint16_t* make_rows(uint64_t rows, Number number) {
  std::vector<uint16_t> host(size_t(rows) * kDim);
  for (uint64_t r = 0; r < rows; ++r)
    for (uint32_t c = 0; c < kDim; ++c) host[size_t(r) * kDim + c] = encoded(number(r, c));
  uint16_t* p = nullptr;
  CHECK(cudaMalloc(&p, host.size() * 2));
  CHECK(cudaMemcpy(p, host.data(), host.size() * 2, cudaMemcpyHostToDevice));
  return p;
}

uint16_t* make_queries(const Problem& p) {
  const uint32_t most = most_score(p.keys);
  const uint64_t rows = uint64_t(p.heads) * p.queries;
  std::vector<uint16_t> host(size_t(rows) * kDim);
  for (uint64_t r = 0; r < rows; ++r)
    for (uint32_t i = 0; i < most; ++i) host[size_t(r) * kDim + one_of(r, i, most)] = encoded(1);
  uint16_t* q = nullptr;
  CHECK(cudaMalloc(&q, host.size() * 2));
  CHECK(cudaMemcpy(q, host.data(), host.size() * 2, cudaMemcpyHostToDevice));
  return q;
}

/// Compares O with what it has to be: all rows if that is little work, else every n-th.
bool check(const Problem& p, uint64_t& compared) {
  const uint64_t rows = uint64_t(p.heads) * p.queries;
  std::vector<uint16_t> o(size_t(rows) * kDim + kGuard);
  CHECK(cudaMemcpy(o.data(), p.o, o.size() * 2, cudaMemcpyDeviceToHost));
  const uint32_t most = most_score(p.keys);
  uint64_t wrong = 0;
  const uint64_t step = std::max<uint64_t>(1, rows * p.keys * kDim / 2'000'000'000);
  for (uint64_t r = 0; r < rows; r += step) {
    const uint64_t first = r / p.queries * p.keys;
    const uint32_t query = uint32_t(r % p.queries), seen = kCausal ? std::min(p.keys, query + 1) : p.keys;
    double total = 0, sum[kDim] = {};
    for (uint32_t j = 0; j < seen; ++j) {
      int score = 0;
      for (uint32_t i = 0; i < most; ++i) score += key_number(p.keys, first + j, one_of(r, i, most));
      const double weight = std::ldexp(1.0, score);
      total += weight;
      for (uint32_t c = 0; c < kDim; ++c) sum[c] += weight * value_number(first + j, c);
    }
    const float factor = 1 / float(total);
    for (uint32_t c = 0; c < kDim; ++c) {
      const uint16_t got = o[size_t(r) * kDim + c], exact = rounded(float(sum[c]) * factor);
      if (got != exact && (got | exact) != 0x8000 && wrong++ == 0)
        std::printf("O[%llu][%u][%u] is 0x%x, and it has to be 0x%x\n", static_cast<unsigned long long>(r / p.queries),
                    query, c, got, exact);
    }
    compared += kDim;
  }
  const std::vector<uint16_t> untouched(kGuard, 0xffff);
  if (std::memcmp(&o[size_t(rows) * kDim], untouched.data(), kGuard * 2) != 0) {
    std::printf("something was written behind O\n");
    return false;
  }
  return wrong == 0;
}

int usage(const char* wrong) {
  if (*wrong) std::fprintf(stderr, "%s is not taken\n", wrong);
  std::fprintf(
      *wrong ? stderr : stdout,
      "options: --problem HEADSxQUERIESxKEYS (several; default %ux%ux%u) --repeat N (timed launches, default 11)\n"
      "         --no-check --csv --info\n"
      "         --pieces N (only so many pieces of work), --scale C (of scores, times log2(e)): nothing is checked\n",
      kDefault.heads, kDefault.queries, kDefault.keys);
  return *wrong ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Size> sizes;
  int repeat = 11;
  uint32_t pieces = 0;
  float scale = 1;
  bool checks = true, csv = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    Size s{};
    if (word == "--problem" && i + 1 < argc &&
        std::sscanf(argv[i + 1], "%ux%ux%u", &s.heads, &s.queries, &s.keys) == 3 && s.heads && s.queries && s.keys) {
      sizes.push_back(s);
      ++i;
    } else if (word == "--repeat" && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      repeat = std::atoi(argv[++i]);
    } else if (word == "--pieces" && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      pieces = uint32_t(std::atoi(argv[++i]));
      checks = false;
    } else if (word == "--scale" && i + 1 < argc) {
      scale = float(std::atof(argv[++i]));
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
  bool right = true;
  for (const Size& s : sizes) {
    Problem p{s.heads, s.queries, s.keys, nullptr, nullptr, nullptr, nullptr, scale, pieces};
    p.q = make_queries(p);
    p.k = make_rows(uint64_t(s.heads) * s.keys, [&](uint64_t row, uint32_t c) { return key_number(s.keys, row, c); });
    p.v = make_rows(uint64_t(s.heads) * s.keys, value_number);
    const size_t bytes = (size_t(s.heads) * s.queries * kDim + kGuard) * 2;
    CHECK(cudaMalloc(&p.o, bytes));
    CHECK(cudaMemset(p.o, 0xff, bytes));
    float median, least, most;
    if (checks) launch(p);
    CHECK(cudaDeviceSynchronize());
    uint64_t compared = 0;
    const bool ok = !checks || check(p, compared);
    right = right && ok;
    measure(p, repeat, median, least, most);
    // Products that masks hide do not count.
    const double seen = kCausal && s.queries <= s.keys ? s.queries * (s.queries + 1.0) / 2 : double(s.queries) * s.keys;
    const double tflops = 4.0 * s.heads * seen * kDim / median * 1e-6;
    const char* verdict = !checks ? "not checked" : ok ? "right" : "wrong";
    if (csv)
      std::printf("%s,%u,%u,%u,%.3f,%.3f,%.3f,%s\n", kPoint, s.heads, s.queries, s.keys, median, least, most, verdict);
    else
      std::printf("%u x %u x %u: %s (%llu elements), %.2f us (%.2f to %.2f), %.1f TFLOP/s\n", s.heads, s.queries,
                  s.keys, verdict, static_cast<unsigned long long>(compared), median, least, most, tflops);
    std::fflush(stdout);
    for (uint16_t* m : {p.q, p.k, p.v, p.o}) CHECK(cudaFree(m));
  }
  return right ? 0 : 1;
}

// ---- How the program measures.

/// The median of the launches' times in microseconds, the least and the largest.
void measure(const Problem& p, int repeat, float& median, float& least, float& most) {
  cudaEvent_t from, to;
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  std::vector<float> times;
  for (int i = repeat > 1 ? -2 : 0; i < repeat; ++i) {
    CHECK(cudaEventRecord(from));
    launch(p);
    CHECK(cudaEventRecord(to));
    CHECK(cudaEventSynchronize(to));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, from, to));
    if (i >= 0) times.push_back(ms * 1e3f);
  }
  std::sort(times.begin(), times.end());
  median = times[times.size() / 2];
  least = times.front();
  most = times.back();
  CHECK(cudaEventDestroy(from));
  CHECK(cudaEventDestroy(to));
}

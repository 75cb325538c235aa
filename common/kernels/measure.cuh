// ---- How the program measures.

/// The median of the launches' times in microseconds, the least and the largest. Launches follow one another, so that
/// the host's time is hidden behind the one before.
void measure(const Problem& p, int repeat, float& median, float& least, float& most) {
  const int before = repeat > 1 ? 2 : 0;
  std::vector<cudaEvent_t> events(size_t(before + repeat + 1));
  for (cudaEvent_t& e : events) CHECK(cudaEventCreate(&e));
  for (cudaEvent_t& e : events) {
    if (&e != &events.front()) launch(p);
    CHECK(cudaEventRecord(e));
  }
  CHECK(cudaEventSynchronize(events.back()));
  std::vector<float> times;
  for (size_t i = size_t(before); i + 1 < events.size(); ++i) {
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, events[i], events[i + 1]));
    times.push_back(ms * 1e3f);
  }
  std::sort(times.begin(), times.end());
  median = times[times.size() / 2];
  least = times.front();
  most = times.back();
  for (cudaEvent_t e : events) CHECK(cudaEventDestroy(e));
}

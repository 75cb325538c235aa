// A module is not loaded for a processor, and its one thread never ends.
namespace tinygpu::isa {
void require_cpu_level() {}
}  // namespace tinygpu::isa

extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }

#include "common/tinygpu/isa/builtins.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/tinygpu/isa/builtin_call.h"
#include "common/tinygpu/isa/device_runtime.h"
#include "common/tinygpu/isa/heap.h"

namespace tinygpu::isa {

namespace {

template <class T>
T read(Warp& w, uint64_t address, int lane, const char* what) {
  T v;
  std::memcpy(&v, locate(w, ptx::Space::generic, address, sizeof v, 1, AccessKind::read, lane, what).host, sizeof v);
  return v;
}

std::string read_string(Warp& w, uint64_t address, int lane, const char* what) {
  if (address == 0) return "(null)";
  std::string s;
  while (char c = read<char>(w, address++, lane, what)) s += c;
  return s;
}

// ---- vprintf

/// Arguments as nvcc lays them out for vprintf: in order, each at its natural alignment, int and smaller as 4 bytes,
/// float as double.
class Arguments {
 public:
  Arguments(Warp& w, uint64_t at, int lane) : w_(w), at_(at), lane_(lane) {}
  template <class T>
  T next() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const T v = read<T>(w_, at_, lane_, "load of a printf argument");
    at_ += sizeof(T);
    ++count_;
    return v;
  }
  int count() const { return count_; }

 private:
  Warp& w_;
  uint64_t at_;
  int lane_;
  int count_ = 0;
};

/// Longest text of one conversion. The driver's only limit is int; this one protects the host's memory.
constexpr int64_t kLongest = 1 << 20;

template <class T>
std::string print(const std::string& spec, T value) {
  char small[256];
  const int n = std::snprintf(small, sizeof small, spec.c_str(), value);
  if (n < int(sizeof small)) return std::string(small, n > 0 ? size_t(n) : 0);
  std::string big(size_t(n) + 1, '\0');
  std::snprintf(big.data(), big.size(), spec.c_str(), value);
  big.resize(size_t(n));
  return big;
}

/// A conversion of C's printf as far as its letter; a width may be *, which takes an argument.
struct Conversion {
  std::string spec = "%";  // flags, width, precision
  int64_t longest = 0;     // characters that they ask for
  int size = 4;            // of an integer
  bool is_char = false, is_short = false;
  char letter = 0;  // 0: the format ends before it
  size_t end = 0;   // behind it

  Conversion(const std::string& format, size_t at, Arguments& args) : end(at + 1) {
    while (is_one_of(format, "-+ #0")) spec += format[end++];
    if (is_one_of(format, "*")) {
      const int32_t width = args.next<int32_t>();
      longest = std::abs(int64_t(width));
      spec += std::to_string(width);
      ++end;
    } else {
      number(format);
    }
    if (is_one_of(format, ".")) {
      spec += format[end++];
      number(format);
    }
    // Length modifiers: the argument's size; the text is printed from a long long.
    for (; is_one_of(format, "hljztq"); ++end) {
      if (format[end] == 'h') {
        is_char = is_short;
        is_short = true;
      } else {
        size = 8;
      }
    }
    if (end < format.size()) letter = format[end++];
  }

 private:
  bool is_one_of(const std::string& format, std::string_view letters) const {
    return end < format.size() && letters.find(format[end]) != std::string_view::npos;
  }
  void number(const std::string& format) {
    int64_t n = 0;
    while (is_one_of(format, "0123456789")) {
      n = std::min<int64_t>(n * 10 + (format[end] - '0'), kLongest + 1);
      spec += format[end++];
    }
    longest = std::max(longest, n);
  }
};

/// One conversion, from the '%' at format[at]; `at` moves behind it. Conversions that CUDA's printf does not know are
/// printed as they are, as on an H100 (CUDA 13.0): %n, unknown letters, .*, L.
std::string convert(Warp& w, const std::string& format, size_t& at, Arguments& args, int lane) {
  Conversion c(format, at, args);
  const std::string whole = format.substr(at, c.end - at);
  at = c.end;
  if (!c.letter) return whole;
  if (c.longest > kLongest) {
    w.report(Severity::warning, "printf-too-long",
             "a printf conversion would print more than 1 MiB of text:  " + std::to_string(c.longest) +
                 " characters or more; its value is printed without width and precision",
             "check the width and the precision");
    c.spec = "%";
  }
  switch (c.letter) {
    case '%': return "%";
    case 'd':
    case 'i': {
      int64_t v = c.size == 8 ? args.next<int64_t>() : args.next<int32_t>();
      if (c.is_char)
        v = int8_t(v);
      else if (c.is_short)
        v = int16_t(v);
      return print(c.spec + "ll" + c.letter, static_cast<long long>(v));
    }
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
      uint64_t v = c.size == 8 ? args.next<uint64_t>() : args.next<uint32_t>();
      if (c.is_char)
        v = uint8_t(v);
      else if (c.is_short)
        v = uint16_t(v);
      return print(c.spec + "ll" + c.letter, static_cast<unsigned long long>(v));
    }
    case 'c': return print(c.spec + c.letter, args.next<int32_t>());
    case 'p': return print(c.spec + c.letter, reinterpret_cast<void*>(args.next<uint64_t>()));
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A': return print(c.spec + c.letter, args.next<double>());
    case 's': {
      const std::string s = read_string(w, args.next<uint64_t>(), lane, "load of a printf %s string");
      return print(c.spec + c.letter, s.c_str());
    }
    default: return whole;
  }
}

void vprintf(Warp& w, const Op& op) {
  const RunOptions& options = w.partition().launch.options;
  for_lanes(w.exec(), [&](int lane) {
    const uint64_t format_address = argument<uint64_t>(w, op, 0, lane);
    if (format_address == 0) return set_return<int32_t>(w, op, lane, -1);
    const std::string format = read_string(w, format_address, lane, "load of a printf format");
    Arguments args(w, argument<uint64_t>(w, op, 1, lane), lane);
    std::string text;
    const auto write_out = [&] {
      if (options.device_output)
        options.device_output(text);
      else
        std::fwrite(text.data(), 1, text.size(), stdout);
      text.clear();
    };
    for (size_t at = 0; at < format.size();) {
      if (format[at] == '%')
        text += convert(w, format, at, args, lane);
      else
        text += format[at++];
      if (int64_t(text.size()) > kLongest) write_out();
    }
    write_out();
    set_return<int32_t>(w, op, lane, args.count());  // CUDA: the number of arguments, not of characters
  });
}

// ---- __assertfail

/// (message, file, line, function, char size)
void assert_fail(Warp& w, const Op& op) {
  const int lane = __builtin_ctz(w.exec());
  const std::string message = read_string(w, argument<uint64_t>(w, op, 0, lane), lane, "load of an assertion's text");
  const std::string file = read_string(w, argument<uint64_t>(w, op, 1, lane), lane, "load of an assertion's file");
  const uint32_t line = argument<uint32_t>(w, op, 2, lane);
  const std::string function =
      read_string(w, argument<uint64_t>(w, op, 3, lane), lane, "load of an assertion's function");
  const Dim3 block = w.cta().key.id, shape = w.partition().launch.config.block;
  const uint32_t thread = w.index() * 32 + uint32_t(lane);
  auto triple = [](uint32_t x, uint32_t y, uint32_t z) {
    return "[" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + "]";
  };
  w.fault(FaultKind::device_assert, "device-assert",
          file + ":" + std::to_string(line) + ": " + function + ": block: " + triple(block.x, block.y, block.z) +
              ", thread: " + triple(thread % shape.x, thread / shape.x % shape.y, thread / shape.x / shape.y) +
              " Assertion `" + message + "` failed.",
          "an assert in device code did not hold", lane);
}

// ---- malloc, free

void device_malloc(Warp& w, const Op& op) {
  for_lanes(w.exec(),
            [&](int lane) { set_return(w, op, lane, allocate_in_heap(w.gpu(), argument<uint64_t>(w, op, 0, lane))); });
}

void device_free(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) { free_in_heap(w, argument<uint64_t>(w, op, 0, lane), lane); });
}

}  // namespace

ExecFn builtin_function(std::string_view name) {
  if (name == "vprintf") return vprintf;
  if (name == "__assertfail") return assert_fail;
  if (name == "malloc") return device_malloc;
  if (name == "free") return device_free;
  return device_runtime_function(name);
}

}  // namespace tinygpu::isa

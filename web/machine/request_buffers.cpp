#include "web/machine/request_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "common/tinygpu/cuda/tensor_map.h"
#include "web/machine/buffers.h"

namespace tinygpu::web {
namespace {

constexpr uint64_t kMostBytes = uint64_t(256) << 20;  // of one buffer
constexpr size_t kShown = 4096;                       // numbers of a buffer

Buffer make_buffer(api::Machine& m, const Json& spec, size_t number) {
  Buffer b{spec.value("name", fmt::format("buffer {}", number)),
           spec.value("type", "f32"),
           0,
           0,
           spec.value("bytes", false),
           {}};
  const size_t size = size_of_type(b.type);
  const uint64_t count = spec.value("count", uint64_t(0));
  if (!size) throw WrongRequest(fmt::format("{}: {} is no element type", b.name, b.type));
  if (!count || count > kMostBytes / size)
    throw WrongRequest(fmt::format("{}: {} elements; 1 to {} fit", b.name, count, kMostBytes / size));
  const std::string pattern = spec.value("pattern", "zero");
  b.bytes = count * size;
  b.address = m.memory().allocate(b.bytes);
  if (!b.address) throw WrongRequest(fmt::format("{}: no memory for {} bytes", b.name, b.bytes));
  if (pattern == "unwritten") return b;
  if (pattern == "words") {  // as text: JSON's numbers are not exact for all of them
    std::vector<uint8_t> bytes(b.bytes);
    const Json& words = spec.at("words");
    for (size_t i = 0; i < std::min<size_t>(count, words.size()); ++i) {
      const uint64_t bits = std::strtoull(words[i].get<std::string>().c_str(), nullptr, 0);
      std::memcpy(bytes.data() + i * size, &bits, size);
    }
    m.memory().write(b.address, bytes);
    return b;
  }
  const auto bytes = filled(b.type, count, pattern);
  if (!bytes) throw WrongRequest(fmt::format("{}: there is no pattern {}", b.name, pattern));
  m.memory().write(b.address, *bytes);
  return b;
}

const Buffer& buffer_of(const std::vector<Buffer>& buffers, size_t number) {
  if (number < buffers.size()) return buffers[number];
  throw WrongRequest(fmt::format("a parameter is of buffer {}, and there are {}", number, buffers.size()));
}

/// By the numbers of CUtensorMapDataType and CUtensorMapSwizzle.
uint32_t map_type(const std::string& type) {
  constexpr std::pair<std::string_view, uint32_t> kCodes[] = {
      {"u8", 0},  {"e4m3", 0}, {"e5m2", 0}, {"u16", 1}, {"u32", 2},  {"s32", 3},  {"u64", 4},
      {"s64", 5}, {"f16", 6},  {"f32", 7},  {"f64", 8}, {"bf16", 9}, {"tf32", 11}};
  for (const auto& [name, code] : kCodes)
    if (name == type) return code;
  throw WrongRequest(fmt::format("no tensor map has elements of {}", type));
}

std::vector<uint8_t> make_map(const api::Machine& m, const Json& spec, const std::vector<Buffer>& buffers) {
  const Buffer& b = buffer_of(buffers, spec.value("of", size_t(0)));
  const auto dims = spec.at("dims").get<std::vector<uint64_t>>();
  const auto box = spec.at("box").get<std::vector<uint32_t>>();
  if (dims.empty() || dims.size() > 5 || box.size() != dims.size())
    throw WrongRequest("a tensor map has 1 to 5 dimensions, and as many of its box");
  std::vector<uint64_t> strides;
  uint64_t pitch = size_of_type(b.type);
  for (const uint64_t d : dims) {
    if (!d || d > kMostBytes || pitch > kMostBytes) throw WrongRequest("a dimension of a tensor map is out of range");
    strides.push_back(pitch *= d);
  }
  if (pitch > b.bytes) throw WrongRequest(fmt::format("the tensor has {} bytes, its buffer {}", pitch, b.bytes));
  strides.pop_back();
  const std::vector<uint32_t> steps(dims.size(), 1);
  std::vector<uint8_t> object(128);
  cuda::TensorMapParameters p;
  p.object = object.data();
  p.type = map_type(b.type);
  p.rank = uint32_t(dims.size());
  p.address = b.address;
  p.dims = dims.data();
  p.strides = strides.data();
  p.box = box.data();
  p.steps = steps.data();
  switch (spec.value("swizzle", 0)) {
    case 32: p.swizzle = 1; break;
    case 64: p.swizzle = 2; break;
    case 128: p.swizzle = 3; break;
    default: p.swizzle = 0;
  }
  p.blackwell = m.spec().compute_major >= 10;
  if (const std::string wrong = cuda::check_tensor_map(p); !wrong.empty()) throw WrongRequest(wrong);
  cuda::encode_tensor_map(p);
  return object;
}

/// The bytes of a parameter, or of a field of one.
std::vector<uint8_t> bytes_of(const api::Machine& m, const Json& given, const std::vector<Buffer>& buffers) {
  uint64_t bits = 0;
  size_t size = 8;
  if (given.contains("map")) return make_map(m, given["map"], buffers);
  if (given.contains("buffer")) {
    bits = buffer_of(buffers, given["buffer"].get<size_t>()).address;
  } else {
    const std::string type = given.value("type", "u32");
    size = size_of_type(type);
    if (!size) throw WrongRequest(fmt::format("{} is no type of a parameter", type));
    bits = element_bits(type, given.value("value", 0.0));
  }
  const auto* first = reinterpret_cast<const uint8_t*>(&bits);
  return {first, first + size};
}

Json number_json(std::string_view type, const uint8_t* bytes) {
  const double v = element_value(type, bytes);
  return v - v == 0 ? Json(v) : Json(v != v ? "NaN" : v > 0 ? "∞" : "−∞");
}

}  // namespace

std::vector<Buffer> buffers_of(api::Machine& m, const Json& request) {
  std::vector<Buffer> buffers;
  for (const Json& b : request.value("buffers", Json::array())) {
    buffers.push_back(make_buffer(m, b, buffers.size()));
    Buffer& made = buffers.back();
    made.before.resize(std::min<uint64_t>(made.bytes, kShown * size_of_type(made.type)));
    m.memory().read(made.address, made.before);
  }
  return buffers;
}

std::vector<uint8_t> parameters_of(const api::Machine& m, const api::Kernel& k, const Json& given,
                                   const std::vector<Buffer>& buffers) {
  if (given.size() != k.parameters.size())
    throw WrongRequest(fmt::format("{} has {} parameters, {} are given", k.name, k.parameters.size(), given.size()));
  std::vector<uint8_t> out(k.parameter_bytes);
  for (size_t i = 0; i < given.size(); ++i) {
    const auto put = [&](const Json& field) {
      const auto bytes = bytes_of(m, field, buffers);
      const size_t at = field.value("at", size_t(0)), room = k.parameters[i].size;
      if (at > room || bytes.size() > room - at)
        throw WrongRequest(fmt::format("parameter {} has {} bytes; {} are given at {}", i, room, bytes.size(), at));
      std::ranges::copy(bytes, out.begin() + std::ptrdiff_t(k.parameters[i].offset + at));
    };
    if (!given[i].contains("struct"))
      put(given[i]);
    else
      for (const Json& field : given[i]["struct"]) put(field);
  }
  return out;
}

Json buffer_json(const api::Machine& m, const Buffer& b) {
  std::vector<uint8_t> bytes(b.bytes);
  m.memory().read(b.address, bytes);
  const size_t size = std::max<size_t>(1, size_of_type(b.type));  // make_buffer has looked
  Json values = Json::array(), before = Json::array();
  for (size_t at = 0; at < b.before.size(); at += size) {
    values.push_back(number_json(b.type, bytes.data() + at));
    if (std::memcmp(bytes.data() + at, b.before.data() + at, size) != 0)
      before.push_back({at / size, number_json(b.type, b.before.data() + at)});
  }
  Json out = {{"name", b.name},   {"type", b.type},   {"count", bytes.size() / size},
              {"values", values}, {"before", before}, {"digest", digest(bytes.data(), bytes.size())}};
  if (b.all) out["bytes"] = base64(bytes.data(), bytes.size());
  return out;
}

}  // namespace tinygpu::web

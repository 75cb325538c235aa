// Fatbin containers as nvcc 13.0.88 writes them. data/tiny_MODE.fatbin come from
//   extern "C" __global__ void tiny(int* p) { *p = 42; }
//   nvcc -fatbin --compress-mode=MODE -gencode arch=compute_100a,code=[sm_100a,compute_100a] -gencode
//   arch=compute_90a,code=compute_90a
// and tiny_rdc.fatbin from -rdc=true for sm_100a.
#include "common/tinygpu/image/fatbin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/tinygpu/image/cubin.h"

namespace tinygpu::image {
namespace {

using Kind = FatbinEntry::Kind;

std::vector<uint8_t> file(const std::string& name) {
  std::ifstream in(std::string(TEST_DATA) + "/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {(std::istreambuf_iterator<char>(in)), {}};
}

const FatbinEntry* find(const std::vector<FatbinEntry>& entries, Kind kind, uint32_t arch) {
  for (const auto& e : entries)
    if (e.kind == kind && e.arch == arch) return &e;
  return nullptr;
}

class Mode : public testing::TestWithParam<const char*> {};

TEST_P(Mode, HoldsTwoPtxTextsAndACubin) {
  const auto bytes = file(std::string("tiny_") + GetParam() + ".fatbin");
  const auto entries = read_fatbin(bytes);
  ASSERT_EQ(entries.size(), 3u);
  const FatbinEntry* ptx = find(entries, Kind::ptx, 100);
  const FatbinEntry* hopper = find(entries, Kind::ptx, 90);
  const FatbinEntry* cubin = find(entries, Kind::cubin, 100);
  ASSERT_TRUE(ptx && hopper && cubin);
  EXPECT_THAT(ptx->image(), testing::HasSubstr(".visible .entry tiny("));
  EXPECT_THAT(ptx->image(), testing::HasSubstr("42"));
  EXPECT_EQ(ptx_target(ptx->image()), "sm_100a");
  EXPECT_EQ(ptx_target(hopper->image()), "sm_90a");
  EXPECT_EQ(ptx->version_major, 9);
  EXPECT_EQ(ptx->version_minor, 0);
  const std::string elf = cubin->image();
  EXPECT_TRUE(is_elf({reinterpret_cast<const uint8_t*>(elf.data()), elf.size()}));
}

TEST_P(Mode, CubinTellsRegisters) {
  const auto bytes = file(std::string("tiny_") + GetParam() + ".fatbin");
  const std::string elf = find(read_fatbin(bytes), Kind::cubin, 100)->image();
  const auto kernels = read_cubin({reinterpret_cast<const uint8_t*>(elf.data()), elf.size()});
  ASSERT_EQ(kernels.count("tiny"), 1u);
  EXPECT_EQ(kernels.at("tiny").registers, 8u);  // ptxas -v: "Used 8 registers"
  EXPECT_EQ(kernels.at("tiny").frame_bytes, 0u);
}

TEST_P(Mode, EveryTruncationIsAnErrorNotACrash) {
  const auto bytes = file(std::string("tiny_") + GetParam() + ".fatbin");
  for (size_t n = 0; n < bytes.size(); n += 31) EXPECT_THROW(read_fatbin({bytes.data(), n}), FatbinError) << n;
}

TEST_P(Mode, DamagedBytesNeverCrash) {
  const auto good = file(std::string("tiny_") + GetParam() + ".fatbin");
  for (size_t at = 0; at < good.size(); at += 13) {
    auto bytes = good;
    bytes[at] ^= 0xff;
    try {
      for (const auto& e : read_fatbin(bytes)) {
        const std::string image = e.image();
        read_cubin({reinterpret_cast<const uint8_t*>(image.data()), image.size()});
      }
    } catch (const FatbinError& e) {
      EXPECT_STRNE(e.what(), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nvcc, Mode, testing::Values("size", "speed", "none", "balance"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Fatbin, CompressionIsWhatTheModeSays) {
  auto ptx_flags = [](const char* name) { return find(read_fatbin(file(name)), Kind::ptx, 100)->flags; };
  EXPECT_TRUE(ptx_flags("tiny_size.fatbin") & FatbinEntry::kZstd);
  EXPECT_TRUE(ptx_flags("tiny_balance.fatbin") & FatbinEntry::kZstd);
  EXPECT_TRUE(ptx_flags("tiny_speed.fatbin") & FatbinEntry::kLz4);
  EXPECT_FALSE(ptx_flags("tiny_none.fatbin") & (FatbinEntry::kLz4 | FatbinEntry::kZstd));
}

TEST(Fatbin, SameTextInEveryMode) {
  auto text = [](const char* name) { return find(read_fatbin(file(name)), Kind::ptx, 100)->image(); };
  const std::string plain = text("tiny_none.fatbin");
  EXPECT_EQ(text("tiny_size.fatbin"), plain);
  EXPECT_EQ(text("tiny_speed.fatbin"), plain);
}

TEST(Fatbin, RelocatableEntriesCarryTheirOptions) {
  const auto entries = read_fatbin(file("tiny_rdc.fatbin"));
  const FatbinEntry* ptx = find(entries, Kind::ptx, 100);
  ASSERT_TRUE(ptx);
  EXPECT_THAT(ptx->options, testing::HasSubstr("--compile-only"));
}

TEST(Fatbin, WrappersOfBothVersions) {
  const auto one = file("tiny_none.fatbin"), two = file("tiny_rdc.fatbin");
  const FatbinWrapper v1{FatbinWrapper::kMagic, 1, one.data(), nullptr};
  ASSERT_EQ(containers_of(&v1).size(), 1u);
  EXPECT_EQ(containers_of(&v1)[0].data(), one.data());
  const void* prelinked[] = {one.data(), two.data(), nullptr};
  const FatbinWrapper v2{FatbinWrapper::kMagic, 2, two.data(), prelinked};
  ASSERT_EQ(containers_of(&v2).size(), 2u);
  EXPECT_EQ(containers_of(&v2)[1].data(), two.data());
  const FatbinWrapper bad{0x12345678, 1, one.data(), nullptr};
  EXPECT_THROW(containers_of(&bad), FatbinError);
}

TEST(Fatbin, SectionsHoldContainersBehindEachOther) {
  auto section = file("tiny_none.fatbin");
  section.resize((section.size() + 7) / 8 * 8);
  const auto second = file("tiny_speed.fatbin");
  section.insert(section.end(), second.begin(), second.end());
  EXPECT_EQ(read_fatbin_section(section).size(), 6u);
  EXPECT_TRUE(read_fatbin_section({}).empty());
}

/// Where a field of the first entry stands: behind the container's header of 16 bytes.
constexpr size_t kEntry = 16, kExtension = kEntry + 20;

template <class T>
void put(std::vector<uint8_t>& bytes, size_t at, T value) {
  std::memcpy(&bytes[at], &value, sizeof value);
}

TEST(Fatbin, ExtensionsBehindTheHeaderAreNotRead) {
  auto bytes = file("tiny_rdc.fatbin");
  for (const uint32_t extension : {0xfffffff8u, 0xffffffffu, 0xfffffffcu, 0x7fffffffu, 4096u}) {
    put(bytes, kExtension, extension);
    EXPECT_EQ(read_fatbin(bytes)[0].options, "") << extension;
  }
}

TEST(Fatbin, ImagesThatSayTheyAreHugeTakeNoMemory) {
  for (const char* name : {"tiny_size.fatbin", "tiny_speed.fatbin"}) {
    auto bytes = file(name);
    const auto entries = read_fatbin(bytes);
    const auto packed = std::find_if(entries.begin(), entries.end(),
                                     [](const auto& e) { return e.flags & (FatbinEntry::kLz4 | FatbinEntry::kZstd); });
    ASSERT_NE(packed, entries.end());
    size_t at = kEntry;  // of the entry's header
    for (auto e = entries.begin(); e != packed; ++e) at = size_t(e->payload.data() + e->payload.size() - bytes.data());
    const size_t plain_size = at + 56;
    uint64_t was;
    std::memcpy(&was, &bytes[plain_size], 8);
    ASSERT_EQ(was, packed->plain_size) << name;
    for (const uint64_t size : {~uint64_t(0), uint64_t(1) << 32, (uint64_t(1) << 32) - 1, FatbinEntry::kMaxImage}) {
      put(bytes, plain_size, size);
      EXPECT_THROW(read_fatbin(bytes)[size_t(packed - entries.begin())].image(), FatbinError) << name << " " << size;
    }
  }
}

TEST(Fatbin, NullWrappers) {
  EXPECT_THROW(containers_of(nullptr), FatbinError);
  const FatbinWrapper empty{FatbinWrapper::kMagic, 1, nullptr, nullptr};
  EXPECT_THROW(containers_of(&empty), FatbinError);
  EXPECT_THROW(fatbin_size(nullptr), FatbinError);
}

// e_shoff stands at byte 40 of the file; a section's offset and size at 24 and 32 of its header.
TEST(Elf, OffsetsThatWrap) {
  const std::string image = find(read_fatbin(file("tiny_none.fatbin")), Kind::cubin, 100)->image();
  const std::vector<uint8_t> good(image.begin(), image.end());
  ASSERT_TRUE(Elf::read(good));
  EXPECT_EQ(Elf::size_of(good), good.size());
  uint64_t sections;
  std::memcpy(&sections, &good[40], 8);
  for (const uint64_t wild : {~uint64_t(0), ~uint64_t(0) - 63, uint64_t(1) << 63, uint64_t(0) - 64 * 3}) {
    auto bytes = good;
    put(bytes, 40, wild);
    EXPECT_FALSE(Elf::read(bytes)) << wild;
    EXPECT_GE(Elf::size_of(bytes), wild);
    bytes = good;
    put(bytes, sections + 64 + 24, wild);
    put(bytes, sections + 64 + 32, uint64_t(128));
    ASSERT_TRUE(Elf::read(bytes));
    EXPECT_TRUE(Elf::read(bytes)->sections()[1].bytes.empty()) << wild;
    EXPECT_GE(Elf::size_of(bytes), wild);
  }
}

TEST(Cubin, RegisterCountsThatNoKernelHas) {
  const std::string image = find(read_fatbin(file("tiny_none.fatbin")), Kind::cubin, 100)->image();
  std::vector<uint8_t> bytes(image.begin(), image.end());
  // {format 4, attribute 0x2f, 8 bytes: symbol, registers}
  const uint8_t head[] = {4, 0x2f, 8, 0};
  const auto at = std::search(bytes.begin(), bytes.end(), std::begin(head), std::end(head));
  ASSERT_NE(at, bytes.end());
  for (const uint32_t registers : {1u << 27, 256u, ~0u}) {
    put(bytes, size_t(at - bytes.begin()) + 8, registers);
    const auto kernels = read_cubin(bytes);
    EXPECT_TRUE(!kernels.count("tiny") || kernels.at("tiny").registers == 0) << registers;
  }
}

TEST(Fatbin, TargetIgnoresComments) {
  EXPECT_EQ(ptx_target("// .target sm_50\n.version 9.0\n.target sm_100a, debug\n"), "sm_100a");
  EXPECT_EQ(ptx_target(".version 9.0\n.target\tsm_90\n"), "sm_90");
  EXPECT_EQ(ptx_target("no ptx"), "");
  EXPECT_EQ(ptx_target("/* once\n.target sm_90a\n*/\n.version 9.0\n.target sm_100a\n"), "sm_100a");
  EXPECT_EQ(ptx_target("// \n.version 9.0 // .target sm_90a\n.target sm_100a// so"), "sm_100a");
  EXPECT_EQ(ptx_target(".version 9.0\n.pragma \".target sm_90a \";\n.target sm_100a"), "sm_100a");
  EXPECT_EQ(ptx_target("/* never closed\n.target sm_90a\n"), "");
}

}  // namespace
}  // namespace tinygpu::image

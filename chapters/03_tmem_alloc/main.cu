// Chapter 03: tcgen05.alloc, dealloc, relinquish_alloc_permit.
//
//   scripts/run 03_tmem_alloc                     every part
//   scripts/run 03_tmem_alloc --part pair         one of them
//   scripts/run 03_tmem_alloc --mistake leak      a kernel that breaks a rule, and what is said about it
//
// The accumulators of Blackwell's tensor core are not in registers but in Tensor Memory: 128 lanes x 512 columns of 32
// bits, one to an SM, shared by all CTAs on it. It has no pointers and no declaration; a warp asks for columns while
// the kernel runs. Read this file from the top, notes/03_tmem_alloc.md beside it.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/tcgen05_alloc.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;

// ---- 1. The smallest kernel

/// What one CTA saw.
struct Seen {
  uint32_t address, sm;
  long long asked, got, freed, done;  // clock64
};

__device__ uint32_t sm_id() {
  uint32_t id;
  asm("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// One warp allocates; the address comes through shared memory.
__global__ void smallest(Seen* seen) {
  __shared__ uint32_t address;
  Seen s{};
  s.sm = sm_id();
  s.asked = clock64();
  tcgen05_alloc(shared_address(&address), 32);
  s.got = clock64();
  // The store of the address is an ordinary, weak one: another warp needs a barrier before it reads.
  __syncwarp();
  s.address = address;
  // ... the kernel's work ...
  s.freed = clock64();
  tcgen05_dealloc(address, 32);
  s.done = clock64();
  if (threadIdx.x == 0) *seen = s;
}

void part_smallest(Report& r) {
  DeviceBuffer<Seen> seen(1);
  smallest<<<1, 32>>>(seen.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const Seen s = seen.download()[0];
  r.say(
      "A whole warp executes tcgen05.alloc with a number of columns and an address in shared memory. It gets a 32-bit "
      "Tensor Memory address: the lane in the upper half, the column in the lower.");
  Table t({"what", "value"});
  t.row({"address", fmt::format("0x{:08x}", s.address)});
  t.row({"lane (bits 31:16)", std::to_string(s.address >> 16)});
  t.row({"column (bits 15:0)", std::to_string(s.address & 0xffff)});
  t.row({"cycles of alloc", std::to_string(s.got - s.asked)});
  t.row({"cycles of dealloc", std::to_string(s.done - s.freed)});
  r.table(t);
  r.value("alloc_cycles", double(s.got - s.asked));
  r.value("dealloc_cycles", double(s.done - s.freed));
  r.check("an allocation starts at lane 0", s.address >> 16 == 0);
  r.check("its column is a multiple of 32", s.address % 32 == 0 && (s.address & 0xffff) < 512);
}

// ---- 2. Blocks

// Four blocks, one freed, one allocated again. Sizes may only shrink: the rule keeps CTAs that share an SM from waiting
// for each other in a circle.
__global__ void blocks(uint32_t* addresses) {
  __shared__ uint32_t slot[5];
  tcgen05_alloc(shared_address(&slot[0]), 256);
  tcgen05_alloc(shared_address(&slot[1]), 128);
  tcgen05_alloc(shared_address(&slot[2]), 32);
  tcgen05_alloc(shared_address(&slot[3]), 32);
  __syncwarp();
  tcgen05_dealloc(slot[2], 32);
  tcgen05_alloc(shared_address(&slot[4]), 32);
  __syncwarp();
  if (threadIdx.x < 5) addresses[threadIdx.x] = slot[threadIdx.x];
  tcgen05_relinquish_alloc_permit();  // no more: whoever shares the SM may count on the rest
  tcgen05_dealloc(slot[0], 256);
  tcgen05_dealloc(slot[1], 128);
  tcgen05_dealloc(slot[3], 32);
  tcgen05_dealloc(slot[4], 32);
}

struct Block {
  uint32_t column, columns;
};

/// 16 units of 32 columns, a letter for each block.
std::string map_of(const std::vector<Block>& held) {
  std::string units(16, '.');
  for (size_t i = 0; i < held.size(); ++i)
    for (uint32_t u = held[i].column / 32; u < (held[i].column + held[i].columns) / 32; ++u) units[u] = char('A' + i);
  return "    column 0 |" + units + "| 511    one character is 32 columns";
}

void part_blocks(Report& r) {
  DeviceBuffer<uint32_t> addresses(5);
  blocks<<<1, 32>>>(addresses.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto a = addresses.download();
  const uint32_t sizes[] = {256, 128, 32, 32, 32};
  r.say(
      "Columns come in units of 32, in powers of two from 32 to 512. A CTA may allocate several times, each time at "
      "most as much as the time before. A later allocation can reuse a freed block.");
  Table t({"block", "columns", "first column"});
  for (int i = 0; i < 5; ++i) t.row({std::string(1, char('A' + i)), std::to_string(sizes[i]), std::to_string(a[i])});
  r.table(t);
  r.picture(map_of({{a[0], 256}, {a[1], 128}, {a[2], 32}, {a[3], 32}}) + "   A B C D\n" +
            map_of({{a[0], 256}, {a[1], 128}, {a[4], 0}, {a[3], 32}, {a[4], 32}}) + "   C freed, E allocated\n");
  bool aligned = true;
  for (int i = 0; i < 5; ++i) aligned &= a[i] % sizes[i] == 0;
  r.check("each block is aligned to its own size", aligned);
  r.check("no two live blocks overlap", a[0] != a[1] && a[1] != a[2] && a[2] != a[3] && a[3] != a[4]);
  r.check("E took the place that C freed", a[4] == a[2],
          "which free block an SM picks is inferred: tinygpu picks the lowest that fits");
}

// ---- 3. Two CTAs on one SM

// Every CTA allocates, works for a while, frees. With 512 columns each, CTAs on one SM take turns: alloc is what waits.
__global__ void share(Seen* seen, uint32_t columns, uint32_t work) {
  __shared__ uint32_t address;
  Seen s{};
  s.sm = sm_id();
  s.asked = clock64();
  tcgen05_alloc(shared_address(&address), columns);
  s.got = clock64();
  tcgen05_relinquish_alloc_permit();
  __syncwarp();
  s.address = address;
  while (clock64() - s.got < work) {
  }
  s.freed = clock64();
  tcgen05_dealloc(address, columns);
  s.done = clock64();
  if (threadIdx.x == 0) seen[blockIdx.x] = s;
}

/// The CTAs that ran on the SM that most CTAs ran on, in the order in which they got their columns.
std::vector<Seen> busiest_sm(const std::vector<Seen>& all) {
  std::map<uint32_t, std::vector<Seen>> by_sm;
  for (const Seen& s : all) by_sm[s.sm].push_back(s);
  std::vector<Seen> best;
  for (auto& [sm, list] : by_sm)
    if (list.size() > best.size()) best = list;
  std::sort(best.begin(), best.end(), [](const Seen& a, const Seen& b) { return a.got < b.got; });
  return best;
}

void part_share(Report& r) {
  const uint32_t work = 2000, ctas = 2 * uint32_t(current_device().sms);
  for (uint32_t columns : {256u, 512u}) {
    DeviceBuffer<Seen> seen(ctas);
    share<<<ctas, 32>>>(seen.get(), columns, work);
    GEN5_CUDA(cudaDeviceSynchronize());
    const auto on_one = busiest_sm(seen.download());
    r.say(fmt::format("{} columns each: {} CTAs of one warp, two to an SM, {} cycles of work. On SM {}:", columns, ctas,
                      work, on_one.front().sm));
    Table t({"CTA", "first column", "asked at", "waited", "got at", "freed at"});
    long long origin = on_one.front().asked;
    for (const Seen& s : on_one) origin = std::min(origin, s.asked);
    for (size_t i = 0; i < on_one.size(); ++i) {
      const Seen& s = on_one[i];
      t.row({i == 0 ? "first" : "second", std::to_string(s.address), std::to_string(s.asked - origin),
             std::to_string(s.got - s.asked), std::to_string(s.got - origin), std::to_string(s.done - origin)});
    }
    r.table(t);
    r.check("two CTAs share the SM", on_one.size() == 2);
    if (on_one.size() != 2) continue;
    const Seen &a = on_one[0], &b = on_one[1];
    if (columns == 256) {
      r.check("each has columns of its own: the base of an allocation is not always 0", a.address != b.address);
    } else {
      r.check("the second gets its columns only after the first has freed them", b.got >= a.freed);
    }
  }
  r.say(
      "If two CTAs on an SM should overlap, each may allocate at most 256 columns. With 512 columns they silently run "
      "one after the other.");
}

// ---- 4. The pair

// cta_group::2: two CTAs whose rank in the cluster differs in bit 0 allocate together. One warp in each executes the
// instruction; whoever comes first waits for the other; both get the same columns.
__global__ void __cluster_dims__(2) allocate_pair(Seen* seen) {
  __shared__ uint32_t address;
  const uint32_t rank = cluster_ctarank();
  Seen s{};
  s.sm = sm_id();
  const long long start = clock64();
  if (rank == 1)
    while (clock64() - start < 3000) {
    }
  s.asked = clock64();
  tcgen05_alloc<2>(shared_address(&address), 128);
  s.got = clock64();
  tcgen05_relinquish_alloc_permit<2>();
  __syncwarp();
  s.address = address;
  // ... work on both SMs' Tensor Memory, at the same addresses ...
  barrier_cluster_arrive();
  barrier_cluster_wait();  // no thread uses the peer's columns any more
  s.freed = clock64();
  tcgen05_dealloc<2>(address, 128);
  s.done = clock64();
  if (threadIdx.x == 0) seen[blockIdx.x] = s;
}

void part_pair(Report& r) {
  DeviceBuffer<Seen> seen(2);
  allocate_pair<<<2, 32>>>(seen.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto s = seen.download();
  r.say(
      "The CTAs of a pair run on two SMs and use both Tensor Memories with one address, so they allocate together. CTA "
      "1 comes 3,000 cycles late:");
  Table t({"CTA of the pair", "SM", "first column", "waited in alloc", "cycles of dealloc"});
  for (int i = 0; i < 2; ++i)
    t.row({std::to_string(i), std::to_string(s[i].sm), std::to_string(s[i].address),
           std::to_string(s[i].got - s[i].asked), std::to_string(s[i].done - s[i].freed)});
  r.table(t);
  r.check("both have the same columns", s[0].address == s[1].address);
  r.check("they are on different SMs", s[0].sm != s[1].sm);
  r.check("CTA 0 waited for CTA 1", s[0].got - s[0].asked > 2500 && s[1].got - s[1].asked < 2500);
}

// ---- Mistakes

// mistakes.txt says which lines are wrong in which kernel. These run a kernel and say whether its numbers are right.

bool smallest_right(void (*kernel)(Seen*)) {
  DeviceBuffer<Seen> seen(1);
  kernel<<<1, 32>>>(seen.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return seen.download()[0].address == 0;
}

bool blocks_right(void (*kernel)(uint32_t*)) {
  DeviceBuffer<uint32_t> addresses(5);
  kernel<<<1, 32>>>(addresses.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return addresses.download()[1] == 256;
}

/// With two CTAs to an SM.
bool share_right(void (*kernel)(Seen*, uint32_t, uint32_t), uint32_t columns) {
  const uint32_t ctas = 2 * uint32_t(current_device().sms);
  DeviceBuffer<Seen> seen(ctas);
  kernel<<<ctas, 32>>>(seen.get(), columns, 2000);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return busiest_sm(seen.download()).size() == 2;
}

bool pair_right(void (*kernel)(Seen*)) {
  DeviceBuffer<Seen> seen(2);
  kernel<<<2, 32>>>(seen.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto s = seen.download();
  return s[0].address == s[1].address;
}

#include "mistakes.inc"

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter("03", "tcgen05.alloc",
                  "A warp allocates columns of Tensor Memory at run time, waits for them, and frees them.");
  chapter.part("smallest", "One warp allocates 32 columns and frees them", part_smallest);
  chapter.part("blocks", "Several blocks: sizes, alignment, reuse", part_blocks);
  chapter.part("share", "Two CTAs on one SM", part_share);
  chapter.part("pair", "A pair of CTAs allocates together", part_pair);
  chapter.mistakes(kMistakes);
  return chapter.run(argc, argv);
}

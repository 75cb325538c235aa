// A runnable kernel around one form of the list of accepted forms: the registers that the form names hold what its
// operands must be (a live mbarrier, an encoded tensor map, aligned addresses), and a mark is stored behind it.
#pragma once
#include <string>

namespace tinygpu::test {

/// Groups of the list: tcgen05's 1 allocation, 2 loads, stores and their waits, 3 copies and shifts, 5 MMAs; 6 commits
/// and all fences, 7 mbarrier, 8 bulk and tensor copies, 9 everything else.
int group_of(const std::string& form);

/// True if the form is a load that counts bytes on the mbarrier of its own CTA.
bool counts_bytes(const std::string& form);

/// Bytes of one tensor map, and the order in which the table of maps in device memory holds them.
enum MapOf : int { map_tile = 0, map_im2col = 5, map_wide = 10, map_gather = 15, map_count = 16 };  // + rank − 1

/// Kernel `name`. Parameters: kparam (a tensor map), addresses of the table of maps, of 64 KiB of data, of 16 words per
/// CTA for results: [0] is 1 once the form has run; for counts_bytes() [2..3] are the mbarrier's word after 200
/// microseconds. To be launched as one cluster of two CTAs of threads_of() threads.
std::string form_kernel(const std::string& name, const std::string& form);
unsigned threads_of(const std::string& form);

/// The same of forms of tcgen05 but its fences (tensor_form_kernel.cpp). Parameters: kparam, the words for results.
std::string tensor_form_kernel(const std::string& name, const std::string& form);
bool is_tensor_form(const std::string& form);

}  // namespace tinygpu::test

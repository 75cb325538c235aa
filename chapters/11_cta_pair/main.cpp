// Chapter 11: clusters and the CTA pair.
//
//   scripts/run 11_cta_pair                        every part
//   scripts/run 11_cta_pair --part multicast       one of them
//   scripts/run 11_cta_pair --mistake exit_early   a kernel that breaks a rule, and what is said about it
//
// A cluster is a few CTAs that run at the same time on neighbouring SMs and reach each other's shared memory. Two of
// them make a pair, whose tensor cores work on one product. Read clusters.cu first, pair.cu behind it, and
// notes/11_cta_pair.md beside both. The first half runs on Hopper too.
#include "chapters/11_cta_pair/parts.h"

int main(int argc, char** argv) {
  gen5::harness::Chapter chapter(
      "11", "clusters and the CTA pair",
      "CTAs that run together reach each other's shared memory; two of them multiply as one.");
  add_clusters(chapter);
  add_pair(chapter);
  return chapter.run(argc, argv);
}

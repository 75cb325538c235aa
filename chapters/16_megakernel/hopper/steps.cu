// The chapter's six steps with Hopper's kernel.
#define MEGAKERNEL_HOPPER
#include "chapters/16_megakernel/step1_launches.cu"
#include "chapters/16_megakernel/step2_graph.cu"
#include "chapters/16_megakernel/step3_dependent.cu"
#include "chapters/16_megakernel/step4_tasks.cu"
#include "chapters/16_megakernel/step5_claimed.cu"
#include "chapters/16_megakernel/step6_interleaved.cu"

#include "chapters/16_megakernel/hopper/step7_marked.cu"

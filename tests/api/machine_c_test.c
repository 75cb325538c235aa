/* The C interface, by a program in C that knows nothing else of tinygpu. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tinygpu/api/gen5_machine.h"

static int failures = 0;

static void expect(int holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  printf("line %d: %s; the last error: %s\n", line, what, gen5_machine_error());
}
#define EXPECT(x) expect((x) != 0, #x, __LINE__)
#define OK(x) expect((x) == GEN5_OK, #x, __LINE__)
/* The call fails with this status, and a sentence that has this in it. */
#define REFUSED(x, status, sentence)                        \
  do {                                                      \
    expect((x) == (status), #x, __LINE__);                  \
    EXPECT(strstr(gen5_machine_error(), sentence) != NULL); \
  } while (0)

/* Adds n to the word of each thread, by way of shared memory. */
static const char kPtx[] =
    ".version 9.0\n.target sm_100a\n.address_size 64\n"
    ".global .u32 answer = 42;\n"
    ".visible .entry add(.param .u64 to, .param .u32 n) {\n"
    "  .reg .u32 %r<6>; .reg .u64 %a<4>; .reg .pred %p;\n"
    "  .shared .align 4 .u32 kept;\n"
    "  ld.param.u64 %a0, [to];\n"
    "  ld.param.u32 %r0, [n];\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mul.wide.u32 %a1, %r1, 4;\n"
    "  add.u64 %a0, %a0, %a1;\n"
    "  setp.eq.u32 %p, %r1, 0;\n"
    "  @%p st.shared.u32 [kept], %r0;\n"
    "  bar.sync 0;\n"
    "  ld.shared.u32 %r2, [kept];\n"
    "  ld.global.u32 %r3, [%a0];\n"
    "  add.u32 %r3, %r3, %r2;\n"
    "  st.global.u32 [%a0], %r3;\n"
    "  ret;\n"
    "}\n";

static gen5_launch one_block(uint32_t threads, const void* const* params, size_t count) {
  gen5_launch l;
  memset(&l, 0, sizeof l);
  l.size = sizeof l;
  l.grid[0] = l.grid[1] = l.grid[2] = l.block[1] = l.block[2] = 1;
  l.block[0] = threads;
  l.params = params;
  l.param_count = count;
  return l;
}

int main(void) {
  gen5_machine* m = NULL;
  gen5_module* module = NULL;
  gen5_kernel* add = NULL;
  uint64_t at = 0, id = 0, where = 0, bytes = 0;
  uint32_t words[64], n = 5, i;
  gen5_stop stop;
  gen5_launch launch;
  gen5_diagnosis told;
  gen5_cta cta;
  const void* params[2];

  EXPECT(gen5_machine_version() == GEN5_MACHINE_VERSION);
  REFUSED(gen5_machine_create("b2000", NULL, &m), GEN5_NOT_FOUND, "b2000");
  REFUSED(gen5_machine_create("b200", "{\"order\": \"early\"}", &m), GEN5_INVALID_ARGUMENT,
          "order=early: write timed, late or seeded");
  REFUSED(gen5_machine_create("b200", "{", &m), GEN5_INVALID_ARGUMENT, "parse error");
  REFUSED(gen5_machine_create(NULL, NULL, &m), GEN5_INVALID_ARGUMENT, "a pointer is null");
  OK(gen5_machine_create("b200", "{\"threads\": 1, \"profile\": true}", &m));
  if (!m) return 1;

  /* Load, launch, read back. */
  REFUSED(gen5_machine_load(m, "nonsense", 8, &module), GEN5_INVALID_IMAGE, "neither PTX");
  REFUSED(
      gen5_machine_load(m, ".version 9.0\n.target sm_100a\n.visible .entry k() { add.u33 %r1, %r1, 1; }", 74, &module),
      GEN5_INVALID_IMAGE, "3:");
  OK(gen5_machine_load(m, kPtx, sizeof kPtx - 1, &module));
  REFUSED(gen5_machine_kernel(m, module, "sub", &add), GEN5_NOT_FOUND, "no entry sub");
  OK(gen5_machine_kernel(m, module, "add", &add));
  OK(gen5_machine_variable(m, module, "answer", &where, &bytes));
  EXPECT(bytes == 4);
  OK(gen5_machine_read(m, where, words, 4));
  EXPECT(words[0] == 42);
  OK(gen5_machine_allocate(m, sizeof words, &at));
  for (i = 0; i < 64; ++i) words[i] = i;
  OK(gen5_machine_write(m, at, words, sizeof words));
  params[0] = &at;
  params[1] = &n;
  launch = one_block(64, params, 2);
  OK(gen5_machine_launch(m, add, &launch, &id));
  OK(gen5_machine_run(m, &stop));
  EXPECT(stop == GEN5_STOP_DONE);
  EXPECT(gen5_machine_clock(m) > 0);
  OK(gen5_machine_read(m, at, words, sizeof words));
  for (i = 0; i < 64; ++i) EXPECT(words[i] == i + 5);
  EXPECT(gen5_machine_profile(m) && strstr(gen5_machine_profile(m), "\"kernel\":\"add\""));

  /* Stop on the way, and look inside. */
  OK(gen5_machine_launch(m, add, &launch, &id));
  for (where = gen5_machine_clock(m), stop = GEN5_STOP_TIME; stop == GEN5_STOP_TIME && !gen5_machine_cta_count(m);
       where += 100)
    OK(gen5_machine_run_until(m, where, &stop));
  EXPECT(stop == GEN5_STOP_TIME && gen5_machine_cta_count(m) == 1);
  cta.size = sizeof cta;
  OK(gen5_machine_cta(m, 0, &cta));
  EXPECT(cta.launch == id && cta.warps == 2 && cta.shared_bytes >= 1028);
  OK(gen5_machine_read_shared(m, 0, 1024, words, 4));
  REFUSED(gen5_machine_read_shared(m, 0, cta.shared_bytes, words, 4), GEN5_INVALID_ADDRESS, "bytes of shared memory");
  REFUSED(gen5_machine_cta(m, 1, &cta), GEN5_INVALID_ARGUMENT, "1 CTAs are resident");
  REFUSED(gen5_machine_read_tensor(m, 9999, 0, 0, 1, 1, words), GEN5_INVALID_ADDRESS, "SM 9999");
  OK(gen5_machine_run(m, &stop));
  EXPECT(stop == GEN5_STOP_DONE && gen5_machine_cta_count(m) == 0);

  /* What is refused. */
  REFUSED(gen5_machine_read(m, 8, words, 4), GEN5_INVALID_ADDRESS, "a read of 4 bytes at 0x8");
  REFUSED(gen5_machine_fill(m, at, 0, 1 << 20), GEN5_INVALID_ADDRESS, "a fill of 1048576 bytes");
  REFUSED(gen5_machine_release(m, at + 4), GEN5_INVALID_ADDRESS, "not the start of a live allocation");
  REFUSED(gen5_machine_allocate(m, UINT64_C(1) << 50, &where), GEN5_OUT_OF_MEMORY, "bytes asked for");
  launch = one_block(2000, params, 2);
  REFUSED(gen5_machine_launch(m, add, &launch, NULL), GEN5_LAUNCH_REFUSED, "2000 threads");
  launch = one_block(1, params, 1);
  REFUSED(gen5_machine_launch(m, add, &launch, NULL), GEN5_LAUNCH_REFUSED, "has 2 parameters, 1 are given");
  launch.size = 0;
  REFUSED(gen5_machine_launch(m, add, &launch, NULL), GEN5_INVALID_ARGUMENT, "the struct's size is not set");

  /* A fault is a diagnosis, and the machine goes on. */
  EXPECT(gen5_machine_diagnosis_count(m) == 0);
  where = 16;
  params[0] = &where;
  launch = one_block(1, params, 2);
  OK(gen5_machine_launch(m, add, &launch, NULL));
  OK(gen5_machine_run(m, &stop));
  EXPECT(stop == GEN5_STOP_FAULT && gen5_machine_diagnosis_count(m) == 1);
  told.size = sizeof told;
  OK(gen5_machine_diagnosis(m, 0, &told));
  EXPECT(strcmp(told.code, "illegal-address") == 0 && strcmp(told.severity, "error") == 0);
  EXPECT(strcmp(told.kernel, "add") == 0 && told.thread == 0 && told.cta[0] == 0 && told.ptx_line == 17);
  EXPECT(strstr(told.text, "illegal-address") != NULL);
  REFUSED(gen5_machine_diagnosis(m, 1, &told), GEN5_INVALID_ARGUMENT, "there are 1 diagnoses");
  OK(gen5_machine_release(m, at));
  gen5_machine_destroy(m);
  gen5_machine_destroy(NULL);
  if (!failures) printf("all right\n");
  return failures != 0;
}

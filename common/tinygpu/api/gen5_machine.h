/* The machine as a C interface: api/machine.h for other languages, for debuggers and for browsers. libtinygpu exports
   it.

   Every function that can fail returns a gen5_status; gen5_machine_error() is then a sentence that says why. Handles
   are opaque. Modules and kernels live as long as their machine. A machine is used by one thread at a time. Texts are
   valid until the next call on the same machine. Structs begin with their size, which the caller sets, so that later
   versions may add fields behind those of this one. */
#ifndef GEN5_MACHINE_H
#define GEN5_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gen5_status {
  GEN5_OK = 0,
  GEN5_INVALID_ARGUMENT = 1, /* a null pointer, an option, a number out of range */
  GEN5_INVALID_IMAGE = 2,    /* neither PTX nor a fatbin, or PTX that is wrong, or for another machine */
  GEN5_NOT_FOUND = 3,        /* no such machine profile, kernel, variable */
  GEN5_OUT_OF_MEMORY = 4,    /* of the machine, or of the host */
  GEN5_INVALID_ADDRESS = 5,  /* bytes that are not inside one allocation */
  GEN5_LAUNCH_REFUSED = 6,   /* a shape or resources that no launch of the kernel may have */
  GEN5_INTERNAL = 7          /* a limit of the model's own */
} gen5_status;

typedef struct gen5_machine gen5_machine;
typedef struct gen5_module gen5_module;
typedef struct gen5_kernel gen5_kernel;

/* Changes where a function's or a struct's meaning does; not where some are added. */
#define GEN5_MACHINE_VERSION 1
int gen5_machine_version(void);

/* Why the last call on this thread has failed; "" if none has. */
const char* gen5_machine_error(void);

/* `profile`: "b200", "h200" or a file. `options`: a JSON object, or null: "order": "timed|late|seeded", "seed",
   "check": "quick|races|none", "tmem_checks", "threads", "max_cycles", "timing_only"; what is left out is the default,
   whatever the environment says. "profile": true keeps what gen5_machine_profile() gives. */
gen5_status gen5_machine_create(const char* profile, const char* options, gen5_machine** out);
void gen5_machine_destroy(gen5_machine* machine);

/* ---- Modules: PTX text or a fatbin */
gen5_status gen5_machine_load(gen5_machine* machine, const void* image, size_t bytes, gen5_module** out);
gen5_status gen5_machine_kernel(gen5_machine* machine, gen5_module* module, const char* name, gen5_kernel** out);
gen5_status gen5_machine_variable(gen5_machine* machine, gen5_module* module, const char* name, uint64_t* address,
                                  uint64_t* bytes);

/* ---- Memory */
gen5_status gen5_machine_allocate(gen5_machine* machine, uint64_t bytes, uint64_t* address);
gen5_status gen5_machine_release(gen5_machine* machine, uint64_t address);
gen5_status gen5_machine_read(gen5_machine* machine, uint64_t address, void* to, size_t bytes);
gen5_status gen5_machine_write(gen5_machine* machine, uint64_t address, const void* from, size_t bytes);
gen5_status gen5_machine_fill(gen5_machine* machine, uint64_t address, uint8_t value, size_t bytes);

/* ---- Launches */
typedef struct gen5_launch {
  size_t size; /* sizeof(gen5_launch) */
  uint32_t grid[3], block[3];
  uint32_t cluster[3];       /* zeros: as the kernel is compiled */
  uint64_t dynamic_shared;   /* bytes of a CTA */
  const void* const* params; /* one pointer a parameter, as cuLaunchKernel has them */
  size_t param_count;
  uint32_t stream; /* launches of one stream run one after the other, those of different streams beside each other */
  uint32_t cooperative; /* 1: all CTAs are resident together */
} gen5_launch;
/* It begins when the machine runs. `id` may be null. */
gen5_status gen5_machine_launch(gen5_machine* machine, gen5_kernel* kernel, const gen5_launch* launch, uint64_t* id);

typedef enum gen5_stop {
  GEN5_STOP_DONE = 0, /* all that was launched is over */
  GEN5_STOP_TIME = 1, /* the cycle has been reached */
  GEN5_STOP_FAULT = 2 /* a kernel was stopped: the last diagnosis; all other launches are dropped */
} gen5_stop;
gen5_status gen5_machine_run(gen5_machine* machine, gen5_stop* why);
/* Until nothing is left to happen before `cycle` of the clock. It stops between two exchanges with the chip's memory,
   at most some hundred cycles later, and stopping changes no result and no cycle. */
gen5_status gen5_machine_run_until(gen5_machine* machine, uint64_t cycle, gen5_stop* why);
/* SM cycles since the machine was made. */
uint64_t gen5_machine_clock(const gen5_machine* machine);

/* ---- What is seen */
typedef struct gen5_diagnosis {
  size_t size;          /* sizeof(gen5_diagnosis) */
  const char* code;     /* `gen5 explain CODE` tells all about it */
  const char* severity; /* "error", "warning", "note" */
  const char* message;
  const char* help;
  const char* kernel; /* "" if unknown, and so on */
  const char* file;   /* CUDA source, and line */
  int line;
  int ptx_line;
  int cta[3];       /* -1 if unknown */
  int thread;       /* in its CTA; -1 if unknown */
  const char* text; /* all of it, as gen5 run shows it */
} gen5_diagnosis;
/* All since the machine was made; their texts are valid as long as it is. */
size_t gen5_machine_diagnosis_count(const gen5_machine* machine);
gen5_status gen5_machine_diagnosis(gen5_machine* machine, size_t index, gen5_diagnosis* out);

/* printf of device code since the last call. */
const char* gen5_machine_output(gen5_machine* machine);
/* Where the kernels' time went since the machine was made, JSON as gen5 run --profile-json has it; null without the
 * option "profile". */
const char* gen5_machine_profile(gen5_machine* machine);

/* ---- Inspection, between two calls of gen5_machine_run_until() */
typedef struct gen5_cta {
  size_t size;         /* sizeof(gen5_cta) */
  uint64_t launch;     /* its id */
  uint32_t id[3];      /* %ctaid */
  uint32_t sm;         /* %smid */
  uint32_t warps;      /* that have not ended */
  size_t shared_bytes; /* of the window of shared memory from offset 0; the kernel's own begins at 1024 */
} gen5_cta;
/* CTAs that are resident. */
size_t gen5_machine_cta_count(gen5_machine* machine);
gen5_status gen5_machine_cta(gen5_machine* machine, size_t index, gen5_cta* out);
gen5_status gen5_machine_read_shared(gen5_machine* machine, size_t index, size_t offset, void* to, size_t bytes);
/* lanes × columns cells of Tensor Memory, row by row. */
gen5_status gen5_machine_read_tensor(gen5_machine* machine, uint32_t sm, uint32_t lane, uint32_t column, uint32_t lanes,
                                     uint32_t columns, uint32_t* to);

#ifdef __cplusplus
}
#endif

#endif

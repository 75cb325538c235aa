// multimem (PTX ISA 9.7.9.14). Its addresses come from a multicast object of the driver's, and this machine, one GPU,
// has none (cuMulticastCreate: not supported): an address that is handed to it is an ordinary one.
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

namespace {

void not_multicast(Warp& w, const Op& op) {
  w.fault(
      FaultKind::illegal_address, "multimem-not-multicast",
      w.function().instruction(op).spelling() + " on an address that is not of a multicast object",
      "multimem works on memory that cuMulticastCreate and cuMulticastBindMem have bound on several GPUs; on one GPU "
      "use ld, st and red");
}

void decode_multimem(Decoder& d, Op& op) { finish(d, op, not_multicast, CostClass::global_atomic); }

constexpr Entry kMultimemTable[] = {{Opcode::multimem_ld_reduce, decode_multimem},
                                    {Opcode::multimem_st, decode_multimem},
                                    {Opcode::multimem_red, decode_multimem},
                                    {Opcode::multimem_cp_async_bulk, decode_multimem},
                                    {Opcode::multimem_cp_reduce_async_bulk, decode_multimem}};

}  // namespace

Table multimem_table() { return {kMultimemTable}; }

}  // namespace tinygpu::isa

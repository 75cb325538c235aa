#include "common/tinygpu/machine/origin.h"

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {

Origin origin_of(const Warp& w, int lane) {
  return {&w.partition().launch,           &w.function(), &w.current_op(), w.cta().key, int(w.index()), lane, 0,
          lane < 0 ? w.exec() : 1u << lane};
}

Origin origin_of_lanes(const Warp& w, uint32_t lanes) {
  Origin who = origin_of(w, __builtin_ctz(lanes));
  who.lanes = lanes;
  return who;
}

Where Origin::where(std::optional<uint64_t> time) const {
  Where out;
  out.kernel = launch->config.kernel->name;
  out.cta[0] = int(cta.id.x);
  out.cta[1] = int(cta.id.y);
  out.cta[2] = int(cta.id.z);
  out.warp = warp;
  if (lane >= 0) out.thread = warp * 32 + lane;
  if (time) out.cycle = int64_t(*time - launch->start_time);
  const ptx::Instruction& i = function->instruction(*op);
  if (operation) out.operation = i.name();
  out.ptx_line = int(i.pos.line);
  out.ptx_text = i.text;
  if (i.source.line && i.source.file < function->module->files.size()) {
    out.cuda_file = function->module->files[i.source.file];
    out.cuda_line = int(i.source.line);
    out.cuda_column = int(i.source.column);
  }
  for (int32_t at = i.inlined; at >= 0;) {
    const ptx::InlinedLine& line = function->module->inlined[size_t(at)];
    const std::vector<std::string>& files = function->module->files;
    out.inlined.push_back({line.line.file < files.size() ? files[line.line.file] : std::string(), int(line.line.line),
                           int(line.line.column), function->module->inlined_functions[line.function]});
    at = line.outer;
  }
  return out;
}

void Origin::fault(FaultKind kind, std::string code, std::string message, std::string help) const {
  throw KernelFault({std::move(code), Severity::error, kind, std::move(message), std::move(help), where()});
}

void Origin::report(Severity severity, std::string code, std::string message, std::string help) const {
  report({std::move(code), severity, FaultKind::launch_failure, std::move(message), std::move(help), where()});
}

void Origin::report(Diagnosis d) const {
  if (d.where.kernel.empty()) d.where = where();
  launch->reports.add(std::move(d), op);
}

}  // namespace tinygpu

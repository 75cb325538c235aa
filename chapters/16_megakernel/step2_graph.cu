// Step 2: the same launches, as a graph. The host says once what follows what; then one call starts it all.
#include "chapters/16_megakernel/launch.cuh"

namespace megakernel {

cudaGraphExec_t captured(const Work& work, void (*launch)(const Work&)) {
  cudaStream_t stream;
  GEN5_CUDA(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  GEN5_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  Work on_stream = work;
  on_stream.stream = stream;
  launch(on_stream);
  GEN5_CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t runs;
  GEN5_CUDA(cudaGraphInstantiate(&runs, graph, 0));
  GEN5_CUDA(cudaGraphDestroy(graph));
  GEN5_CUDA(cudaStreamDestroy(stream));
  return runs;
}

void launch_graph(const Work& work) {
  const cudaGraphExec_t runs = captured(work, launch_launches);
  GEN5_CUDA(cudaGraphLaunch(runs, work.stream));
  GEN5_CUDA(cudaGraphExecDestroy(runs));
}

}  // namespace megakernel

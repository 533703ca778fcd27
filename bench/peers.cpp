#include "peers.h"

#include <fmt/format.h>

#ifdef PLAIT_HAVE_OPENBLAS
#include <cblas-openblas.h>
#endif
#ifdef PLAIT_HAVE_ONEDNN
#include <dnnl.h>
#include <omp.h>
#endif

namespace plait::bench {
namespace {

#ifdef PLAIT_HAVE_OPENBLAS
void openblas_matmul(std::int64_t n, const float* a, const float* b, float* c, int threads) {
  openblas_set_num_threads(threads);
  const auto size = static_cast<blasint>(n);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, a, size, b, size, 0, c, size);
}
#endif

#ifdef PLAIT_HAVE_ONEDNN
void onednn_matmul(std::int64_t n, const float* a, const float* b, float* c, int threads) {
  omp_set_num_threads(threads);
  dnnl_sgemm('N', 'N', n, n, n, 1, a, n, b, n, 0, c, n);
}
#endif

}  // namespace

const std::vector<MatmulPeer>& matmul_peers() {
  static const std::vector<MatmulPeer> peers = {
#ifdef PLAIT_HAVE_OPENBLAS
      {"openblas", openblas_matmul},
#endif
#ifdef PLAIT_HAVE_ONEDNN
      {"onednn", onednn_matmul},
#endif
  };
  return peers;
}

nlohmann::json describe_peers() {
  nlohmann::json peers = nlohmann::json::object();
#ifdef PLAIT_HAVE_OPENBLAS
  peers["openblas"] = {{"config", openblas_get_config()}, {"kernels", openblas_get_corename()}};
#endif
#ifdef PLAIT_HAVE_ONEDNN
  const dnnl_version_t* version = dnnl_version();
  peers["onednn"] = {{"version", fmt::format("{}.{}.{}", version->major, version->minor, version->patch)},
                     {"isa", static_cast<int>(dnnl_get_effective_cpu_isa())}};
#endif
  return peers;
}

}  // namespace plait::bench

#include "sim/code.h"

#include <algorithm>
#include <numeric>

#include "ir/build.h"
#include "ir/visit.h"
#include "roles/arena.h"
#include "roles/visit.h"
#include "sim/compiler.h"
#include "support/result.h"

namespace plait::sim {
namespace {

void add_smem(const roles::Program& program, Code& code) {
  roles::Arena arena = roles::arena(program);
  code.arena = arena.bytes;
  for (std::size_t i = 0; i < program.smem.size(); ++i) {
    SmemCode smem{program.smem[i], layout::smem_tile(*program.smem[i]), arena.smem[i]};
    const std::vector<ir::ExprRef>& shape = program.smem[i]->buffer->shape;
    smem.has_rows = shape.size() > 1;
    for (std::size_t d = 0; d + 2 < shape.size(); ++d) smem.lead.push_back(ir::as_int(shape[d]).value());
    code.smem.push_back(std::move(smem));
  }
}

void add_mbars(const roles::Program& program, Code& code) {
  for (const roles::Mbar& mbar : program.mbars) {
    code.mbars.push_back({mbar, code.mbar_total});
    code.mbar_total += static_cast<int>(mbar->size);
  }
}

void add_tensors(const roles::Program& program, const Launch& launch, Code& code) {
  for (const ir::Param& param : program.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    TensorCode tensor{param.buffer, launch.tensors[code.tensors.size()]};
    tensor.is_in = param.kind == ir::ParamKind::in;
    tensor.is_out = tensor.is_blank = param.kind == ir::ParamKind::out;
    code.tensors.push_back(std::move(tensor));
  }
  for (const roles::Workspace& workspace : program.workspaces) {
    TensorCode tensor{workspace->buffer, launch.tensors[code.tensors.size()]};
    tensor.is_blank = !workspace->zero;
    code.tensors.push_back(std::move(tensor));
  }
  for (const roles::Map& map : program.maps) {
    auto is_tensor = [&](const TensorCode& t) { return t.decl == map->tensor; };
    auto found = std::find_if(code.tensors.begin(), code.tensors.end(), is_tensor);
    PLAIT_ASSERT(found != code.tensors.end(), map->name + " is over a parameter");
    code.maps.push_back({map, static_cast<int>(found - code.tensors.begin()), layout::tma_box(*map)});
  }
}

/// Finds the narrowest access to shared memory and to each tensor, so that neighbours are told apart.
class Granules {
 public:
  explicit Granules(Code& code) : code_(code) {}

  void visit(const roles::Body& body, std::int64_t threads) {
    for (const roles::StmtRef& stmt : body) visit(*stmt, threads);
  }

 private:
  void shared(std::int64_t bytes) {
    code_.smem_granule = std::min(code_.smem_granule, std::max<std::int64_t>(bytes, 1));
  }
  void tensor(const ir::BufferDecl* buffer, std::int64_t bytes) {
    for (TensorCode& t : code_.tensors) {
      if (t.decl.get() == buffer) t.granule = std::min(t.granule, std::max<std::int64_t>(bytes, 1));
    }
  }
  static std::int64_t element(const ir::BufferDecl& buffer) { return ir::dtype_bits(buffer.type) / 8; }
  /// Bytes that a thread moves at once.
  static std::int64_t piece(const roles::Fragment& fragment, std::int64_t threads) {
    return fragment_code(fragment, threads).run * element(*fragment->buffer);
  }
  void loads(const ir::ExprRef& expr) {
    ir::walk(expr, [&](const ir::Expr& e) {
      const auto* load = std::get_if<ir::Load>(&e.node);
      if (load == nullptr) return;
      if (load->buffer->scope == ir::Scope::shared) shared(element(*load->buffer));
      if (load->buffer->scope == ir::Scope::global) tensor(load->buffer.get(), element(*load->buffer));
    });
  }
  void visit(const roles::Stmt& stmt, std::int64_t threads) {
    roles::Visitor visitor;
    visitor.expr = [&](const ir::ExprRef& expr) { loads(expr); };
    visitor.body = [&](const roles::Body& body) { visit(body, threads); };
    roles::visit(stmt, visitor);
    std::visit(Overload{
                   [&](const roles::LoadShared& n) { shared(piece(n.dst, threads)); },
                   [&](const roles::StoreShared& n) { shared(piece(n.src, threads)); },
                   [&](const roles::LoadTensor& n) { tensor(n.src.tensor.get(), piece(n.dst, threads)); },
                   [&](const roles::StoreTensor& n) { tensor(n.dst.tensor.get(), piece(n.src, threads)); },
                   [&](const roles::CpAsync& n) {
                     shared(n.piece);
                     tensor(n.src.tensor.get(), n.piece);
                   },
                   [&](const roles::PutShared& n) { shared(element(*n.dst.smem->buffer)); },
                   [&](const roles::PutPiece& n) {
                     shared(n.piece);
                     tensor(n.dst.tensor.get(), n.piece);
                   },
                   [&](const roles::AtomicShared& n) { shared(element(*n.dst.smem->buffer)); },
                   [&](const roles::PutTensor& n) { tensor(n.dst.tensor.get(), element(*n.dst.tensor)); },
                   [&](const roles::Atomic& n) { tensor(n.dst.tensor.get(), element(*n.dst.tensor)); },
                   [&](const auto&) {},
               },
               stmt.node);
  }

  Code& code_;
};

/// Rows and strides that are no multiple of 16 bytes let boxes and vectors end inside a granule.
void fit_tensor_granules(Code& code) {
  for (TensorCode& tensor : code.tensors) {
    std::int64_t bytes = told_bytes(tensor.view.type);
    auto fit = [&](std::int64_t elements) {
      tensor.granule = std::max<std::int64_t>(std::gcd(tensor.granule, elements * bytes), 1);
    };
    if (tensor.view.shape.empty()) continue;
    fit(tensor.view.shape.back());
    for (std::size_t d = 0; d + 1 < tensor.view.strides.size(); ++d) fit(tensor.view.strides[d]);
    if (tensor.view.strides.back() != 1) fit(1);
  }
}

}  // namespace

Code make_code(const roles::Program& program, const Launch& launch) {
  Code code;
  code.sites.push_back({});
  add_smem(program, code);
  add_mbars(program, code);
  add_tensors(program, launch, code);
  Granules granules(code);
  code.elements.reserve(64);
  Shared shared{program, launch, code};
  for (const roles::Role& role : program.roles) {
    granules.visit(program.prologue, std::int64_t{role.warps} * kLanes);
    granules.visit(role.body, std::int64_t{role.warps} * kLanes);
    code.roles.push_back(Compiler(shared, role, code.threads).build());
    code.threads += role.replicas * role.warps * kLanes;
  }
  fit_tensor_granules(code);
  return code;
}

std::string statement_word(const roles::Stmt& stmt) {
  if (const auto* atomic = std::get_if<roles::Atomic>(&stmt.node)) return std::string(roles::atomic_word(atomic->op));
  if (const auto* atomic = std::get_if<roles::AtomicShared>(&stmt.node))
    return std::string(roles::atomic_word(atomic->op));
  static constexpr const char* kWords[] = {"let",
                                           "var",
                                           "set",
                                           "for",
                                           "while",
                                           "if",
                                           "elect",
                                           "warp",
                                           "fragment",
                                           "mbar_init",
                                           "wait",
                                           "arrive",
                                           "expect",
                                           "fence",
                                           "sync_threads",
                                           "sync_warp",
                                           "cluster_arrive",
                                           "cluster_wait",
                                           "barrier_sync",
                                           "barrier_arrive",
                                           "tma_load",
                                           "tma_store",
                                           "bulk_load",
                                           "bulk_store",
                                           "bulk_commit",
                                           "bulk_wait",
                                           "prefetch",
                                           "cp_async",
                                           "cp_commit",
                                           "cp_wait",
                                           "wgmma",
                                           "wgmma_commit",
                                           "wgmma_await",
                                           "mma",
                                           "ldmatrix",
                                           "stmatrix",
                                           "each",
                                           "row_reduce",
                                           "lane_reduce",
                                           "keep",
                                           "load",
                                           "store",
                                           "load",
                                           "store",
                                           "put",
                                           "put",
                                           "put",
                                           "atomic_add",
                                           "atomic_add",
                                           "broadcast",
                                           "shuffle",
                                           "clock",
                                           "acquire",
                                           "publish",
                                           "receive",
                                           "release",
                                           "issue"};
  static_assert(std::size(kWords) == std::variant_size_v<roles::AnyStmt>, "a word for each kind of statement");
  return kWords[stmt.node.index()];
}

}  // namespace plait::sim

#include "layout/matrix_access.h"

#include <fmt/format.h>

#include "support/diagnostic.h"

namespace plait::layout {
namespace {

using Error = std::optional<std::string>;

constexpr std::int64_t kMatrixRows = 8, kLanesAlongRow = 4, kWarp = 32;

std::int64_t elements_per_register(const MatrixRequest& request) { return 32 / request.bits; }
std::int64_t matrix_columns(const MatrixRequest& request) { return kLanesAlongRow * elements_per_register(request); }

/// The upper left corner of the matrix that a register of the warp belongs to.
Coord origin(const MatrixRequest& request, std::int64_t reg) {
  return request.map.coord(kWarp * request.warp, reg * elements_per_register(request));
}

std::int64_t register_count(const MatrixRequest& request) {
  return request.map.elements_per_thread() / elements_per_register(request);
}

/// Lanes go 4 along a row of a matrix and 8 down; the elements of each register are neighbours.
bool forms_matrices(const MatrixRequest& request) {
  const FragmentMap& map = request.map;
  std::int64_t per = elements_per_register(request);
  if (map.threads() % kWarp != 0 || map.elements_per_thread() % per != 0) return false;
  for (std::int64_t lane = 0; lane < kWarp; ++lane) {
    if (map.coord(lane, 0) != Coord{lane / kLanesAlongRow, lane % kLanesAlongRow * per}) return false;
  }
  for (std::int64_t element = 0; element < map.elements_per_thread(); ++element) {
    Coord first = map.coord(0, element - element % per), at = map.coord(0, element);
    if (at != Coord{first.row, first.column + element % per}) return false;
  }
  return true;
}

/// Registers whose matrices lie in the part.
std::vector<std::int64_t> registers_of_part(const MatrixRequest& request) {
  std::vector<std::int64_t> found;
  for (std::int64_t reg = 0; reg < register_count(request); ++reg) {
    Coord at = origin(request, reg);
    std::int64_t row = at.row - request.begin.row, column = at.column - request.begin.column;
    if (row >= 0 && row < request.rows && column >= 0 && column < request.columns) found.push_back(reg);
  }
  return found;
}

/// The longest instruction whose registers begin at regs[i].
int count_from(const std::vector<std::int64_t>& regs, std::size_t i) {
  auto together = [&](std::size_t n) {
    return i + n <= regs.size() && regs[i + n - 1] == regs[i] + std::int64_t(n) - 1;
  };
  return together(4) ? 4 : together(2) ? 2 : 1;
}

MatrixAccess access(const MatrixRequest& request, std::int64_t first_register, int count) {
  MatrixAccess result{count, first_register, {}};
  for (int i = 0; i < count; ++i) {
    Coord at = origin(request, first_register + i);
    std::int64_t row = at.row - request.begin.row, column = at.column - request.begin.column;
    for (std::int64_t j = 0; j < kMatrixRows; ++j)
      result.lanes.push_back(request.trans ? Coord{column + j, row} : Coord{row + j, column});
  }
  return result;
}

}  // namespace

Error matrix_access_error(const MatrixRequest& request) {
  if (request.bits != 8 && request.bits != 16 && request.bits != 32)
    return fmt::format("has elements of {} bits; 8, 16 and 32 are taken", request.bits);
  if (request.trans && request.bits != 16)
    return fmt::format("has elements of {} bits; only 16-bit ones are transposed", request.bits);
  if (!forms_matrices(request)) return std::string("does not lie as 8 rows of 16 bytes over the lanes of a warp");
  if (request.warp < 0 || kWarp * (request.warp + 1) > request.map.threads())
    return fmt::format("has no warp {}", request.warp);
  std::int64_t width = matrix_columns(request);
  if (request.rows % kMatrixRows != 0 || request.columns % width != 0 || request.begin.row % kMatrixRows != 0 ||
      request.begin.column % width != 0) {
    return fmt::format("is cut at [{}, {}] to {} x {}; matrices are {} x {}", request.begin.row, request.begin.column,
                       request.rows, request.columns, kMatrixRows, width);
  }
  if (request.begin.row < 0 || request.begin.column < 0 || request.rows < 1 || request.columns < 1 ||
      request.begin.row + request.rows > request.map.rows() ||
      request.begin.column + request.columns > request.map.columns())
    return std::string("has no such part");
  return {};
}

std::vector<MatrixAccess> matrix_accesses(const MatrixRequest& request) {
  Error error = matrix_access_error(request);
  PLAIT_ASSERT(!error, "fragment " + error.value_or(""));
  std::vector<std::int64_t> regs = registers_of_part(request);
  std::vector<MatrixAccess> result;
  for (std::size_t i = 0; i < regs.size();) {
    int count = count_from(regs, i);
    result.push_back(access(request, regs[i], count));
    i += static_cast<std::size_t>(count);
  }
  return result;
}

Coord matrix_byte(int lane, int byte, bool trans) {
  if (trans) return {2 * (lane % 4) + byte / 2, 2 * (lane / 4) + byte % 2};
  return {lane / 4, 4 * (lane % 4) + byte};
}

}  // namespace plait::layout

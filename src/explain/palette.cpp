#include "explain/palette.h"

#include <array>

namespace plait::explain {

std::vector<std::string> colours_of(const Timeline& timeline) {
  static constexpr std::array<const char*, 12> kFull = {"#3b75af", "#ef8636", "#519e3e", "#c53a32",
                                                        "#8d69b8", "#85584e", "#d57dbe", "#5aa7a7",
                                                        "#bcbd45", "#2f4b7c", "#e0ac2b", "#66783c"};
  static constexpr std::array<const char*, 8> kPale = {"#b3c6e5", "#f6be86", "#a8dc93", "#f19f9a",
                                                       "#c3b1d3", "#bd9e96", "#eeb8d1", "#a6d6d6"};
  std::vector<std::string> out;
  std::size_t full = 0, pale = 0;
  for (const TimelineTask& task : timeline.tasks)
    out.emplace_back(task.in_loop ? kFull[full++ % kFull.size()] : kPale[pale++ % kPale.size()]);
  return out;
}

std::int64_t round_step(double least) {
  for (std::int64_t power = 1;; power *= 10) {
    for (std::int64_t digit : {1, 2, 5}) {
      if (static_cast<double>(digit * power) >= least) return digit * power;
    }
  }
}

}  // namespace plait::explain

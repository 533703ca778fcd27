// What the C++ interface throws.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "plait/plait.h"

namespace plait {

/// Why a program, a call or plait itself failed; what() is the diagnostics as text.
class PLAIT_API Error : public std::exception {
 public:
  Error(plait_status status, std::string text, std::string json)
      : status_(status), text_(std::move(text)), json_(std::move(json)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  plait_status status() const { return status_; }
  /// The diagnostics as a JSON array; "[]" where there are none.
  const std::string& json() const { return json_; }

 private:
  plait_status status_;
  std::string text_, json_;
};

}  // namespace plait

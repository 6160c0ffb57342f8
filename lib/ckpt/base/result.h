#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "ckpt/base/error.h"

namespace ckpt {

/// A value or the reason why there is none. No library function throws across its boundary; see
/// docs/decisions/0001-result-type.md.
template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// The only way to make a failure.
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  return tl::unexpected<Error>(std::move(error));
}
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::uint64_t offset) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.offset = offset;
  return tl::unexpected<Error>(std::move(error));
}
[[nodiscard]] inline Error make_error(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  return error;
}

}  // namespace ckpt

#define CKPT_JOIN_(a, b) a##b
#define CKPT_JOIN(a, b) CKPT_JOIN_(a, b)

/// Returns the error of a `Status` or `Result` expression, or goes on.
#define CKPT_TRY(expression)                                                 \
  do {                                                                       \
    auto ckpt_status_ = (expression);                                        \
    if (!ckpt_status_) return ::ckpt::fail(std::move(ckpt_status_).error()); \
  } while (false)

/// `CKPT_LET(auto x, expression)`: declares x with the value of a `Result`, or returns its error.
#define CKPT_LET(declaration, expression)                                      \
  auto CKPT_JOIN(ckpt_result_, __LINE__) = (expression);                       \
  if (!CKPT_JOIN(ckpt_result_, __LINE__))                                      \
    return ::ckpt::fail(std::move(CKPT_JOIN(ckpt_result_, __LINE__)).error()); \
  declaration = *std::move(CKPT_JOIN(ckpt_result_, __LINE__))

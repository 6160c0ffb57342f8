// An outside project's first steps with an installed libckpt.

#include <iostream>

#include "ckpt/base/error.h"
#include "ckpt/base/result.h"
#include "ckpt/base/text.h"

int main() {
  const ckpt::Status status =
      ckpt::fail(ckpt::ErrorCode::truncated, "ends after " + ckpt::byte_size(2'610'000));
  std::cout << ckpt::error_line(status.error()) << '\n';
  return status.error().code == ckpt::ErrorCode::truncated ? 0 : 1;
}

#pragma once

#include "ckpt/base/limits.h"
#include "ckpt/json/json.h"
#include "ckpt/safetensors/header.h"
#include "ckpt/safetensors/header_findings.h"

/// One tensor's entry in a Safetensors header: `"name":{"dtype":…,"shape":[…],"data_offsets":[begin,end]}`.
namespace ckpt::safetensors {

struct ParsedEntry {
  HeaderTensor tensor;
  /// Everything in `tensor` is known. Range and size may still be wrong.
  bool is_listed = false;
  /// begin <= end are known, whatever else is wrong.
  bool has_range = false;
};

/// Adds what is wrong to `findings`, each with the tensor's name.
[[nodiscard]] ParsedEntry parse_entry(json::Value name, json::Value entry, const Limits& limits,
                                      HeaderFindings& findings);

/// "a list", "null", …: what a value is, for messages.
[[nodiscard]] std::string_view kind_words(json::Kind kind);

}  // namespace ckpt::safetensors

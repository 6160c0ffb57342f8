#include "ckpt/torch/storage_id.h"

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/base/text.h"
#include "ckpt/torch/kinds.h"

namespace ckpt::torch {

using pickle::Kind;
using pickle::Ref;
using pickle::Values;

namespace {

// An empty text would be taken for the integer 0, and stand for another record than torch reads.
constexpr std::string_view kEmptyKey = "storage key is empty";

Status read_class(const Values& values, Ref ref, StorageId& id) {
  if (values.kind(ref) != Kind::global) {
    return fail(ErrorCode::corrupt, "storage class is " + kind_text(values, ref) + ", not a class");
  }
  const std::string_view name = values.name(ref);
  // Match the name, not the module: torch, torch.cuda and torch.storage all have them.
  if (name == "UntypedStorage" || name == "_UntypedStorage") return {};
  id.dtype = dtype_of_storage(name);
  if (!id.dtype) return fail(ErrorCode::unsupported, "storage class " + in_quotes(name) + " is not known");
  return {};
}

Status read_key(const Values& values, Ref ref, StorageId& id) {
  const Kind kind = values.kind(ref);
  if (kind == Kind::integer) {
    id.key_number = values.integer(ref);
  } else if (is_text(values, ref) || kind == Kind::bytes) {
    id.key_text = values.text(ref);
    if (id.key_text.empty()) return fail(ErrorCode::corrupt, std::string(kEmptyKey));
  } else {
    return fail(ErrorCode::corrupt, "storage key is " + kind_text(values, ref));
  }
  return {};
}

Status read_size(const Values& values, Ref ref, StorageId& id) {
  if (values.kind(ref) != Kind::integer) {
    return fail(ErrorCode::corrupt, "storage size is " + kind_text(values, ref) + ", not an int");
  }
  const std::int64_t elements = values.integer(ref);
  if (elements < 0) return fail(ErrorCode::corrupt, fmt::format("storage has {} elements", elements));
  id.elements = static_cast<std::uint64_t>(elements);
  const std::uint64_t item = id.dtype ? dtype_facts(*id.dtype).torch_bytes : 1;
  const auto bytes = checked_multiply(id.elements, item);
  if (!bytes)
    return fail(ErrorCode::corrupt, fmt::format("storage of {} elements does not fit 64 bits", elements));
  id.bytes = *bytes;
  return {};
}

/// Takes `before` off the front of `text`.
bool take(std::string_view& text, std::string_view before) {
  if (text.substr(0, before.size()) != before) return false;
  text.remove_prefix(before.size());
  return true;
}

/// Takes what stands before `end`, and `end`.
bool take_until(std::string_view& text, std::string_view end, std::string_view& out) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return false;
  out = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return true;
}

/// The Python text of a storage tuple, as protocol 0 has it. Keys and locations that would need escaping do not occur.
Result<StorageId> parse_text_id(std::string_view text) {
  std::string_view class_name, location, digits;
  StorageId id;
  const bool fits = take(text, "('storage', <class '") && take_until(text, "'>, '", class_name) &&
                    take_until(text, "', '", id.key_text) && take_until(text, "', ", location) &&
                    take_until(text, ")", digits) && text.empty();
  if (!fits || digits.empty() || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return fail(ErrorCode::unsupported,
                "persistent id is a text, which only protocol 0 of torch.save writes, in another form");
  }
  if (id.key_text.empty()) return fail(ErrorCode::corrupt, std::string(kEmptyKey));
  const std::string_view name = class_name.substr(class_name.rfind('.') + 1);
  if (name != "UntypedStorage") id.dtype = dtype_of_storage(name);
  if (name != "UntypedStorage" && !id.dtype)
    return fail(ErrorCode::unsupported, "storage class " + in_quotes(name) + " is not known");
  id.elements = std::stoull(std::string(digits));
  id.is_meta = location == "meta";
  const auto bytes = checked_multiply(id.elements, id.dtype ? dtype_facts(*id.dtype).torch_bytes : 1);
  if (!bytes)
    return fail(ErrorCode::corrupt, fmt::format("storage of {} elements does not fit 64 bits", id.elements));
  id.bytes = *bytes;
  return id;
}

}  // namespace

std::string StorageId::key() const {
  return key_text.empty() ? std::to_string(key_number) : std::string(key_text);
}

Result<StorageId> parse_storage_id(const Values& values, Ref persistent) {
  const Ref id_ref = values.persistent_id(persistent);
  if (values.kind(id_ref) == Kind::text) return parse_text_id(values.text(id_ref));
  if (values.kind(id_ref) != Kind::tuple) {
    return fail(ErrorCode::corrupt,
                "persistent id is " + kind_text(values, id_ref) + ", not a storage tuple");
  }
  const auto items = values.items(id_ref);
  if (items.empty() || !is_text(values, items[0]) || values.text(items[0]) != "storage") {
    return fail(ErrorCode::corrupt, "persistent id is not a storage tuple");
  }
  if (items.size() != 5 && items.size() != 6) {
    return fail(ErrorCode::corrupt, fmt::format("storage tuple has {} items, not 5", items.size()));
  }
  StorageId id;
  CKPT_TRY(read_class(values, items[1], id));
  CKPT_TRY(read_key(values, items[2], id));
  CKPT_TRY(read_size(values, items[4], id));
  id.is_meta = is_text(values, items[3]) && values.text(items[3]) == "meta";
  return id;
}

}  // namespace ckpt::torch

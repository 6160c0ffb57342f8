#include "ckpt/safetensors/header_entry.h"

#include <array>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/safetensors/packed_size.h"

namespace ckpt::safetensors {

namespace {

using json::Kind;
using json::Value;

const std::string& known_dtypes() {
  static const std::string words = [] {
    std::string text;
    for (std::size_t i = 0; i < kSafetensorsDtypeCount; ++i) {
      if (i > 0) text += ", ";
      text += dtype_facts(static_cast<Dtype>(i)).safetensors;
    }
    return text;
  }();
  return words;
}

class EntryParser {
 public:
  EntryParser(Value name, const Limits& limits, HeaderFindings& findings)
      : name_(name.string()), limits_(limits), findings_(findings) {}

  ParsedEntry parse(Value entry) {
    parsed_.tensor.name = name_;
    check_name();
    if (entry.kind() != Kind::object) {
      // serde derives a sequence form too, so the reference reader takes [dtype, shape, offsets].
      error(fmt::format("entry is {}, must be an object{}", kind_words(entry.kind()),
                        entry.kind() == Kind::array ? " (the reference reader takes it)" : ""));
      return std::move(parsed_);
    }
    take_members(entry);
    for (const Field& field : fields_) {
      if (field.seen == 0) error(fmt::format("{} is missing", field.name));
    }
    parsed_.has_range = fields_[kOffsets].is_good;
    parsed_.is_listed =
        is_name_good_ && fields_[kDtype].is_good && fields_[kShape].is_good && parsed_.has_range;
    if (parsed_.is_listed) check_size();
    return std::move(parsed_);
  }

 private:
  struct Field {
    std::string_view name;
    int seen = 0;
    bool is_good = false;
  };
  static constexpr std::size_t kDtype = 0;
  static constexpr std::size_t kShape = 1;
  static constexpr std::size_t kOffsets = 2;

  void error(std::string message) { error(make_error(ErrorCode::corrupt, std::move(message))); }
  void error(Error what) {
    if (is_name_good_) what.in_tensor(name_);
    findings_.add_error(std::move(what));
  }
  void note(std::string message) {
    Error what = make_error(ErrorCode::corrupt, std::move(message));
    if (is_name_good_) what.in_tensor(name_);
    findings_.add_note(std::move(what));
  }

  void check_name() {
    if (name_.size() > limits_.name_bytes) {
      is_name_good_ = false;
      error(make_error(ErrorCode::limit, fmt::format("name {} has {} bytes, the limit name_bytes is {}",
                                                     in_quotes(name_, 64), name_.size(), limits_.name_bytes))
                .numbers(std::to_string(limits_.name_bytes), std::to_string(name_.size())));
    } else if (name_.find('\0') != std::string_view::npos) {
      note("name holds a NUL byte, which cuts it short in C programs");
    }
  }

  void take_members(Value entry) {
    Value key = entry;
    for (std::size_t left = entry.size(); left > 0; --left) {
      key = left == entry.size() ? entry.first() : key.next().next();
      take_member(key.string(), key.next());
    }
  }

  void take_member(std::string_view key, Value value) {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].name != key) continue;
      if (++fields_[i].seen > 1) return error(fmt::format("{} appears twice", key));
      fields_[i].is_good = take_field(i, value);
      return;
    }
    note(fmt::format("field {} is not part of the format", in_quotes(key)));
  }

  bool take_field(std::size_t field, Value value) {
    if (field == kDtype) return take_dtype(value);
    return field == kShape ? take_shape(value) : take_offsets(value);
  }

  bool take_dtype(Value value) {
    if (value.kind() == Kind::object) {
      error("dtype is an object, must be text (the reference reader takes {\"F32\":null})");
      return false;
    }
    if (value.kind() != Kind::string) {
      error(make_error(ErrorCode::unsupported,
                       fmt::format("dtype is {}, must be text", kind_words(value.kind()))));
      return false;
    }
    const auto dtype = dtype_of_safetensors(value.string());
    if (dtype) parsed_.tensor.dtype = *dtype;
    if (!dtype) {
      error(make_error(ErrorCode::unsupported, fmt::format("dtype {} is not known; known are {}",
                                                           in_quotes(value.string(), 64), known_dtypes())));
    }
    return dtype.has_value();
  }

  bool take_shape(Value value) {
    if (value.kind() != Kind::array) {
      error(fmt::format("shape is {}, must be a list", kind_words(value.kind())));
      return false;
    }
    if (value.size() > limits_.rank) {
      error(make_error(ErrorCode::limit, fmt::format("shape has {} dimensions, the limit rank is {}",
                                                     value.size(), limits_.rank))
                .numbers(std::to_string(limits_.rank), std::to_string(value.size())));
      return false;
    }
    std::vector<std::uint64_t>& shape = parsed_.tensor.shape;
    shape.reserve(value.size());
    if (!take_integers(value, "shape", shape)) return false;
    for (const std::uint64_t dim : shape) {
      if (dim <= kMaxDim) continue;
      error(fmt::format("dimension {} does not fit 63 bits", dim));
      return false;
    }
    return true;
  }

  bool take_offsets(Value value) {
    if (value.kind() != Kind::array) {
      error(fmt::format("data_offsets is {}, must be a list", kind_words(value.kind())));
      return false;
    }
    if (value.size() != 2) {
      error(make_error(ErrorCode::corrupt,
                       fmt::format("data_offsets has {}, must have 2", counted(value.size(), "item")))
                .numbers("2", std::to_string(value.size())));
      return false;
    }
    std::vector<std::uint64_t>& pair = offsets_;
    if (!take_integers(value, "data_offsets", pair)) return false;
    parsed_.tensor.begin = pair[0];
    parsed_.tensor.end = pair[1];
    if (pair[0] <= pair[1]) return true;
    error(make_error(ErrorCode::corrupt, fmt::format("begin {} after end {}", pair[0], pair[1]))
              .numbers(std::to_string(pair[0]), std::to_string(pair[1])));
    return false;
  }

  bool take_integers(Value list, std::string_view field, std::vector<std::uint64_t>& out) {
    out.clear();
    Value item = list;
    for (std::size_t i = 0; i < list.size(); ++i) {
      item = i == 0 ? list.first() : item.next();
      if (item.kind() != Kind::unsigned_integer) {
        error(fmt::format("{} item {} is {}, must be an unsigned integer in plain digits", field, i,
                          kind_words(item.kind())));
        return false;
      }
      out.push_back(item.unsigned_integer());
    }
    return true;
  }

  void check_size() {
    const HeaderTensor& tensor = parsed_.tensor;
    const auto needed = packed_size(tensor.dtype, tensor.shape);
    if (!needed) {
      // Without a size there is nothing to list: whoever adds up elements would have to check again.
      parsed_.is_listed = tensor_has_countable_elements();
      return error(needed.error());
    }
    const std::uint64_t found = tensor.end - tensor.begin;
    if (*needed == found) return;
    error(make_error(ErrorCode::corrupt,
                     fmt::format("shape and dtype need {} bytes, range has {}", *needed, found))
              .numbers(std::to_string(*needed), std::to_string(found)));
  }

  // Of a tensor with odd bits: its elements can be counted, its bytes cannot.
  bool tensor_has_countable_elements() const {
    return packed_size(Dtype::u8, parsed_.tensor.shape).has_value();
  }

  std::string_view name_;
  const Limits& limits_;
  HeaderFindings& findings_;
  ParsedEntry parsed_;
  bool is_name_good_ = true;
  std::vector<std::uint64_t> offsets_;
  std::array<Field, 3> fields_ = {{{"dtype"}, {"shape"}, {"data_offsets"}}};
};

}  // namespace

ParsedEntry parse_entry(Value name, Value entry, const Limits& limits, HeaderFindings& findings) {
  return EntryParser(name, limits, findings).parse(entry);
}

std::string_view kind_words(Kind kind) {
  switch (kind) {
    case Kind::null: return "null";
    case Kind::boolean: return "a boolean";
    case Kind::unsigned_integer:
    case Kind::number: return "a number";
    case Kind::string: return "text";
    case Kind::array: return "a list";
    case Kind::object: break;
  }
  return "an object";
}

}  // namespace ckpt::safetensors

#include "ckpt/zip/extra_field.h"

#include <algorithm>

#include "ckpt/io/byte_reader.h"
#include "ckpt/zip/zip_format.h"

namespace ckpt::zip {

namespace {

void take_zip64(std::string_view field, Extra& extra) {
  if (extra.has_zip64) {
    extra.zip64_twice = true;
    return;
  }
  extra.has_zip64 = true;
  ByteReader reader(as_bytes(field));
  while (extra.value_count < extra.values.size() && reader.take_u64le(extra.values[extra.value_count])) {
    ++extra.value_count;
  }
}

}  // namespace

Extra parse_extra(std::string_view area) {
  Extra extra;
  ByteReader reader(as_bytes(area));
  while (reader.remaining() > 0) {
    std::uint16_t id = 0;
    std::uint16_t length = 0;
    std::string_view field;
    if (!reader.take_u16le(id) || !reader.take_u16le(length) || !reader.take_bytes(length, field)) {
      extra.overruns = true;
      break;
    }
    if (id == kZip64Field) take_zip64(field, extra);
  }
  return extra;
}

std::uint64_t Zip64Values::widen(std::uint32_t field) {
  if (field != kAllOnes32 || !extra_.has_zip64) return field;
  if (next_ < extra_.value_count) return extra_.values[next_++];
  sufficed_ = false;
  return field;
}

bool Zip64Values::rest_is_one_of(std::uint64_t bytes, std::uint64_t compressed, std::uint64_t offset) const {
  return std::all_of(extra_.values.begin() + next_, extra_.values.begin() + extra_.value_count,
                     [=](std::uint64_t v) { return v == 0 || v == bytes || v == compressed || v == offset; });
}

}  // namespace ckpt::zip

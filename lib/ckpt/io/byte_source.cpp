#include "ckpt/io/byte_source.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "ckpt/base/checked.h"

namespace ckpt {

namespace {

Status check_inside(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  if (range_fits(offset, length, size)) return {};
  const auto end = checked_add(offset, length);
  const std::string end_text = end ? std::to_string(*end) : "2^64 or more";
  return fail(make_error(ErrorCode::short_file,
                         fmt::format("expected {} bytes at {}, up to {}, but there are {} bytes in all",
                                     length, offset, end_text, size))
                  .at(offset)
                  .numbers(end_text, std::to_string(size)));
}

bool is_unchanged(const platform::FileIdentity& then, const platform::FileIdentity& now) {
  return then.same_file(now) && then.size == now.size && then.mtime_ns == now.mtime_ns &&
         then.ctime_ns == now.ctime_ns;
}

}  // namespace

ReadCount ByteSource::count() const {
  return {reads_.load(std::memory_order_relaxed), bytes_.load(std::memory_order_relaxed)};
}

void ByteSource::add_read(std::uint64_t bytes) const {
  reads_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

Result<std::vector<std::byte>> ByteSource::read_vector(std::uint64_t offset, std::uint64_t length) const {
  CKPT_TRY(check_inside(offset, length, size()));
  std::vector<std::byte> bytes;
  try {
    bytes.resize(static_cast<std::size_t>(length));
  } catch (const std::exception&) {  // bad_alloc or length_error
    return fail(ErrorCode::internal, fmt::format("no memory for {} bytes", length));
  }
  CKPT_TRY(read_at(offset, bytes));
  return bytes;
}

FileSource::FileSource(platform::File file, platform::FileIdentity identity)
    : file_(std::move(file)), identity_(identity) {}

Result<std::shared_ptr<FileSource>> FileSource::open(const std::string& path) {
  CKPT_LET(platform::File file, platform::File::open_for_reading(path));
  CKPT_LET(const platform::FileIdentity identity, file.identity());
  return std::shared_ptr<FileSource>(new FileSource(std::move(file), identity));
}

Status FileSource::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  CKPT_TRY(check_range(offset, out.size()));
  std::size_t done = 0;
  while (done < out.size()) {
    CKPT_LET(const std::size_t got, file_.read_some(offset + done, out.subspan(done)));
    add_read(got);
    if (got == 0) return fail(ended_early(offset, out.size(), done));
    done += got;
  }
  return {};
}

Status FileSource::check_unchanged() const {
  CKPT_LET(const platform::FileIdentity now, file_.identity());
  if (is_unchanged(identity_, now)) return {};
  if (now.size == identity_.size) {
    return fail(make_error(ErrorCode::changed, "file was written to while it was read").in_file(path()));
  }
  return fail(
      make_error(ErrorCode::changed, fmt::format("file changed while it was read: had {} bytes, has {}",
                                                 identity_.size, now.size))
          .in_file(path())
          .numbers(std::to_string(identity_.size), std::to_string(now.size)));
}

Status FileSource::check_range(std::uint64_t offset, std::uint64_t length) const {
  auto status = check_inside(offset, length, size());
  if (!status) status.error().in_file(path());
  return status;
}

Error FileSource::ended_early(std::uint64_t offset, std::uint64_t length, std::uint64_t found) const {
  const auto now = file_.identity();
  const bool has_moved = now && now->size != identity_.size;
  Error error =
      make_error(has_moved ? ErrorCode::changed : ErrorCode::short_file,
                 fmt::format("file {} while reading: expected {} bytes at {}, found {}",
                             has_moved ? (now->size < identity_.size ? "shrank" : "changed") : "ended",
                             length, offset, found));
  if (has_moved) {
    error.numbers(std::to_string(identity_.size), std::to_string(now->size));
  } else {
    error.numbers(std::to_string(length), std::to_string(found));
  }
  error.in_file(path()).at(offset);
  return error;
}

Status MemorySource::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  CKPT_TRY(check_inside(offset, out.size(), size()));
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  add_read(out.size());
  return {};
}

}  // namespace ckpt

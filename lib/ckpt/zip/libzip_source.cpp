#include "ckpt/zip/libzip_source.h"

#include <algorithm>
#include <cerrno>

namespace ckpt::zip {

namespace {

constexpr std::size_t kBlockBytes = 64U << 10U;

// Copies what of `from`, which starts at `from_offset`, lies at `at` or behind; says how much.
std::size_t copy_part(const std::vector<std::byte>& from, std::uint64_t from_offset, std::uint64_t at,
                      std::span<std::byte> out) {
  if (at < from_offset || at - from_offset >= from.size()) return 0;
  const auto first = static_cast<std::size_t>(at - from_offset);
  const std::size_t length = std::min(out.size(), from.size() - first);
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(first), length, out.begin());
  return length;
}

}  // namespace

ZipArchive LibzipView::open(zip_error_t* error) {
  ZipSource source(zip_source_function_create(&LibzipView::handle, this, error));
  if (!source) return nullptr;
  ZipArchive archive(zip_open_from_source(source.get(), ZIP_RDONLY, error));
  // An archive that was opened owns its source.
  if (archive) static_cast<void>(source.release());
  return archive;
}

zip_int64_t LibzipView::handle(void* view, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto& self = *static_cast<LibzipView*>(view);
  switch (command) {
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                            ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
    case ZIP_SOURCE_OPEN: self.position_ = 0; return 0;
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    case ZIP_SOURCE_READ: return self.read({static_cast<std::byte*>(data), static_cast<std::size_t>(length)});
    case ZIP_SOURCE_SEEK: return self.seek(data, length);
    case ZIP_SOURCE_TELL: return static_cast<zip_int64_t>(self.position_);
    case ZIP_SOURCE_STAT: return self.describe(data, length);
    case ZIP_SOURCE_ERROR: {
      int codes[2] = {self.error_code_, 0};
      if (length < sizeof(codes)) return -1;
      std::copy_n(codes, 2, static_cast<int*>(data));
      return sizeof(codes);
    }
    default: return self.fail_with(ZIP_ER_OPNOTSUPP);
  }
}

zip_int64_t LibzipView::read(std::span<std::byte> out) {
  const std::uint64_t left = size() - position_;
  out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), left)));
  if (auto status = copy(position_, out); !status) {
    failure_ = status.error();
    return fail_with(ZIP_ER_READ);
  }
  position_ += out.size();
  reach_ = std::max(reach_, position_);
  return static_cast<zip_int64_t>(out.size());
}

zip_int64_t LibzipView::seek(void* data, zip_uint64_t length) {
  zip_error_t error;
  zip_error_init(&error);
  const zip_int64_t offset = zip_source_seek_compute_offset(position_, size(), data, length, &error);
  const int code = zip_error_code_zip(&error);
  zip_error_fini(&error);
  if (offset < 0) return fail_with(code);
  position_ = static_cast<std::uint64_t>(offset);
  return 0;
}

zip_int64_t LibzipView::describe(void* data, zip_uint64_t length) {
  if (length < sizeof(zip_stat_t)) return fail_with(ZIP_ER_INVAL);
  auto* stat = static_cast<zip_stat_t*>(data);
  zip_stat_init(stat);
  stat->size = size();
  stat->valid |= ZIP_STAT_SIZE;
  return sizeof(zip_stat_t);
}

zip_int64_t LibzipView::fail_with(int code) {
  error_code_ = code;
  return -1;
}

Status LibzipView::copy(std::uint64_t at, std::span<std::byte> out) {
  while (!out.empty()) {
    std::size_t done = copy_part(head_, 0, at, out);
    if (done == 0) done = copy_part(tail_, head_.size() + length_, at, out);
    if (done == 0) {
      const std::uint64_t inside = at - head_.size();
      done = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), length_ - inside));
      CKPT_TRY(copy_from_source(inside, out.first(done)));
    }
    out = out.subspan(done);
    at += done;
  }
  return {};
}

Status LibzipView::copy_from_source(std::uint64_t at, std::span<std::byte> out) {
  while (!out.empty()) {
    std::size_t done = copy_part(block_, block_offset_, at, out);
    if (done == 0 && out.size() >= kBlockBytes) return source_->read_at(offset_ + at, out);
    if (done == 0) {
      block_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kBlockBytes, length_ - at)));
      block_offset_ = at;
      CKPT_TRY(source_->read_at(offset_ + at, block_));
    }
    out = out.subspan(done);
    at += done;
  }
  return {};
}

}  // namespace ckpt::zip

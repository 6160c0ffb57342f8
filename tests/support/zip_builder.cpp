#include "support/zip_builder.h"

#include <algorithm>
#include <stdexcept>

#include <libdeflate.h>

#include "ckpt/io/byte_reader.h"
#include "ckpt/io/crc32.h"

namespace ckpt::test {

namespace {

constexpr std::uint64_t kAllOnes32 = 0xFFFFFFFF;

void put(std::string& out, std::uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) {
    out.push_back(static_cast<char>(value & 0xFFU));
    value >>= 8U;
  }
}

std::uint32_t clamped(std::uint64_t value) { return static_cast<std::uint32_t>(std::min(value, kAllOnes32)); }

}  // namespace

std::vector<std::byte> to_bytes(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> deflated(std::string_view text) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  std::vector<std::byte> out(libdeflate_deflate_compress_bound(compressor, text.size()));
  out.resize(libdeflate_deflate_compress(compressor, text.data(), text.size(), out.data(), out.size()));
  libdeflate_free_compressor(compressor);
  return out;
}

std::string zip64_field(const std::vector<std::uint64_t>& numbers) {
  std::string field;
  put(field, 1, 2);
  put(field, 8 * numbers.size(), 2);
  for (const std::uint64_t number : numbers) put(field, number, 8);
  return field;
}

Status SparseSource::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset) return fail(ErrorCode::short_file, "read past the end");
  std::fill(out.begin(), out.end(), std::byte{0});
  for (const auto& [start, bytes] : pieces_) {
    const std::uint64_t first = std::max(start, offset);
    const std::uint64_t last = std::min(start + bytes.size(), offset + out.size());
    if (first >= last) continue;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(first - start), last - first,
                out.begin() + static_cast<std::ptrdiff_t>(first - offset));
  }
  add_read(out.size());
  return {};
}

// Collects pieces, one for each stretch between holes.
class ZipBuilder::Writer {
 public:
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  void put(std::uint64_t value, unsigned width) {
    std::string text;
    test::put(text, value, width);
    put_text(text);
  }
  void put_text(std::string_view text) { put_bytes(as_bytes(text)); }
  void put_bytes(std::span<const std::byte> bytes) {
    std::vector<std::byte>& piece = pieces_[piece_];
    piece.insert(piece.end(), bytes.begin(), bytes.end());
    offset_ += bytes.size();
  }
  void put_hole(std::uint64_t bytes) {
    offset_ += bytes;
    piece_ = offset_;
  }
  [[nodiscard]] std::map<std::uint64_t, std::vector<std::byte>> take() { return std::move(pieces_); }

 private:
  std::map<std::uint64_t, std::vector<std::byte>> pieces_;
  std::uint64_t piece_ = 0;
  std::uint64_t offset_ = 0;
};

ZipBuilder& ZipBuilder::add(std::string_view name, std::vector<std::byte> data, ZipRecordOptions options) {
  records_.push_back({std::string(name), std::move(data), std::move(options), 0});
  return *this;
}

ZipBuilder& ZipBuilder::add(std::string_view name, std::string_view data, ZipRecordOptions options) {
  return add(name, to_bytes(data), std::move(options));
}

ZipBuilder& ZipBuilder::add_deflated(std::string_view name, std::string_view text, ZipRecordOptions options) {
  options.method = 8;
  if (!options.bytes) options.bytes = text.size();
  if (!options.crc) options.crc = crc32(0, as_bytes(text));
  return add(name, deflated(text), std::move(options));
}

ZipRecordOptions& ZipBuilder::record(std::string_view name) {
  for (Record& record : records_) {
    if (record.name == name) return record.options;
  }
  throw std::logic_error("no such record: " + std::string(name));
}

ZipBuilder& ZipBuilder::set_alignment(std::uint64_t alignment) {
  alignment_ = alignment;
  return *this;
}

ZipBuilder& ZipBuilder::set_directory_order(std::vector<std::size_t> order) {
  order_ = std::move(order);
  return *this;
}

std::vector<std::byte> ZipBuilder::build() {
  Writer out;
  write(out);
  auto pieces = out.take();
  if (pieces.size() > 1) throw std::logic_error("an archive with holes: use build_sparse");
  return std::move(pieces[0]);
}

std::shared_ptr<const ByteSource> ZipBuilder::build_source() {
  return std::make_shared<MemorySource>(build());
}

std::shared_ptr<const ByteSource> ZipBuilder::build_sparse() {
  Writer out;
  write(out);
  return std::make_shared<SparseSource>(out.take(), out.offset());
}

std::map<std::uint64_t, std::vector<std::byte>> ZipBuilder::build_pieces() {
  Writer out;
  write(out);
  return out.take();
}

void ZipBuilder::write(Writer& out) {
  layout_ = {};
  out.put_text(end_.prefix);
  for (Record& record : records_) {
    if (record.options.has_record) write_record(out, record);
  }
  out.put_text(end_.before_directory);
  layout_.directory_offset = out.offset();
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[order_.empty() ? i : order_[i]];
    if (!record.options.in_directory) continue;
    write_entry(out, record);
    ++count;
  }
  const std::uint64_t directory_bytes = out.offset() - layout_.directory_offset;
  out.put_text(end_.behind_directory);
  write_end(out, layout_.directory_offset - end_.prefix.size(), directory_bytes, count);
  layout_.size = out.offset();
}

std::uint16_t ZipBuilder::flags_of(const Record& record) const {
  if (record.options.flags) return *record.options.flags;
  const std::uint16_t plain = is_torch() ? 0x0800 : 0;
  return descriptor_of(record) > 0 ? plain | 0x0008 : plain;
}

unsigned ZipBuilder::descriptor_of(const Record& record) const {
  if (record.options.descriptor) return *record.options.descriptor;
  const std::uint64_t size = record.data.size() + record.options.hole_bytes;
  if (!is_torch() || size == 0) return 0;
  return size >= kAllOnes32 || record.local_offset >= kAllOnes32 ? 24 : 16;
}

// What torch writes: a ZIP64 field with the true size, 0 and the offset where they are large, then "FB" and
// enough of "Z" for the data to be aligned.
std::string ZipBuilder::local_extra(const Record& record) const {
  const std::uint64_t size = record.data.size() + record.options.hole_bytes;
  std::string extra;
  if (record.options.local.extra) {
    extra = *record.options.local.extra;
  } else if (is_torch()) {
    std::vector<std::uint64_t> numbers;
    if (size >= kAllOnes32) numbers = {size, 0};
    if (record.local_offset >= kAllOnes32) numbers.push_back(record.local_offset);
    if (!numbers.empty()) extra = zip64_field(numbers);
  }
  if (!is_torch()) return extra;
  const std::string& name = record.options.local.name.value_or(record.name);
  const std::uint64_t start = record.local_offset + 30 + name.size() + extra.size() + 4;
  const std::uint64_t padding = (alignment_ - start % alignment_) % alignment_;
  extra += "FB";
  put(extra, padding, 2);
  return extra + std::string(padding, 'Z');
}

void ZipBuilder::write_record(Writer& out, Record& record) {
  const ZipRecordOptions& options = record.options;
  const ZipHeaderFields& fields = options.local;
  out.put_text(options.before);
  record.local_offset = out.offset() - end_.prefix.size();
  layout_.local_offsets[record.name] = out.offset();
  const std::uint64_t size = record.data.size() + options.hole_bytes;
  const bool streamed = descriptor_of(record) > 0;
  const auto number = [&](std::uint64_t value) { return streamed || is_torch() ? 0 : clamped(value); };
  const std::string extra = local_extra(record);
  const std::string name = fields.name.value_or(record.name);
  out.put(fields.signature.value_or(0x04034b50), 4);
  out.put(is_torch() ? 0 : 20, 2);
  out.put(fields.flags.value_or(flags_of(record)), 2);
  out.put(fields.method.value_or(options.method), 2);
  out.put(0, 4);
  out.put(fields.crc.value_or(number(options.crc.value_or(crc32(0, record.data)))), 4);
  out.put(fields.compressed.value_or(number(size)), 4);
  out.put(fields.bytes.value_or(number(options.bytes.value_or(size))), 4);
  out.put(name.size(), 2);
  out.put(fields.extra_length.value_or(static_cast<std::uint16_t>(extra.size())), 2);
  out.put_text(name);
  out.put_text(extra);
  layout_.data_offsets[record.name] = out.offset();
  out.put_bytes(record.data);
  if (options.hole_bytes > 0) out.put_hole(options.hole_bytes);
  write_descriptor(out, record);
  out.put_text(options.behind);
}

void ZipBuilder::write_descriptor(Writer& out, const Record& record) {
  const ZipRecordOptions& options = record.options;
  const unsigned length = descriptor_of(record);
  if (length == 0) return;
  const std::uint64_t size = record.data.size() + options.hole_bytes;
  const unsigned width = length >= 20 ? 8 : 4;
  if (length == 16 || length == 24) out.put(0x08074b50, 4);
  out.put(options.descriptor_crc.value_or(options.crc.value_or(crc32(0, record.data))), 4);
  out.put(size, width);
  out.put(options.descriptor_bytes.value_or(options.bytes.value_or(size)), width);
}

void ZipBuilder::write_entry(Writer& out, const Record& record) {
  const ZipRecordOptions& options = record.options;
  const ZipHeaderFields& fields = options.directory;
  const std::uint64_t compressed = record.data.size() + options.hole_bytes;
  const std::uint64_t bytes = options.bytes.value_or(compressed);
  const bool is_large = compressed >= kAllOnes32 || bytes >= kAllOnes32;
  std::vector<std::uint64_t> numbers;
  if (is_large) numbers = {bytes, compressed};
  if (record.local_offset >= kAllOnes32) numbers.push_back(record.local_offset);
  const std::string extra = fields.extra.value_or(numbers.empty() ? std::string() : zip64_field(numbers));
  const std::string name = fields.name.value_or(record.name);
  const std::string comment = fields.comment.value_or("");
  layout_.entry_offsets[record.name] = out.offset();
  out.put(fields.signature.value_or(0x02014b50), 4);
  out.put(0, 4);
  out.put(fields.flags.value_or(flags_of(record)), 2);
  out.put(fields.method.value_or(options.method), 2);
  out.put(0, 4);
  out.put(fields.crc.value_or(options.crc.value_or(crc32(0, record.data))), 4);
  out.put(fields.compressed.value_or(is_large ? clamped(kAllOnes32) : clamped(compressed)), 4);
  out.put(fields.bytes.value_or(is_large ? clamped(kAllOnes32) : clamped(bytes)), 4);
  out.put(name.size(), 2);
  out.put(fields.extra_length.value_or(static_cast<std::uint16_t>(extra.size())), 2);
  out.put(comment.size(), 2);
  out.put(fields.disk.value_or(0), 2);
  out.put(0, 6);
  out.put(fields.offset.value_or(clamped(record.local_offset)), 4);
  out.put_text(name);
  out.put_text(extra);
  out.put_text(comment);
}

void ZipBuilder::write_end(Writer& out, std::uint64_t directory_offset, std::uint64_t directory_bytes,
                           std::uint64_t count) {
  const bool needs_zip64 = directory_offset >= kAllOnes32 || directory_bytes >= kAllOnes32 || count >= 0xFFFF;
  if (end_.has_zip64.value_or(is_torch() || needs_zip64)) {
    layout_.zip64_offset = out.offset();
    const std::uint64_t record_offset = out.offset() - end_.prefix.size();
    out.put(end_.zip64_signature.value_or(0x06064b50), 4);
    out.put(end_.zip64_record_bytes.value_or(44 + end_.zip64_extension.size()), 8);
    out.put(0, 4);
    out.put(end_.zip64_disk.value_or(0), 4);
    out.put(0, 4);
    out.put(end_.zip64_records.value_or(count), 8);
    out.put(end_.zip64_records.value_or(count), 8);
    out.put(end_.zip64_directory_bytes.value_or(directory_bytes), 8);
    out.put(end_.zip64_directory_offset.value_or(directory_offset), 8);
    out.put_text(end_.zip64_extension);
    layout_.locator_offset = out.offset();
    out.put(0x07064b50, 4);
    out.put(0, 4);
    out.put(end_.locator_offset.value_or(record_offset), 8);
    out.put(end_.locator_disks.value_or(1), 4);
  }
  layout_.end_offset = out.offset();
  const auto count16 = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xFFFF));
  out.put(0x06054b50, 4);
  out.put(end_.disk.value_or(0), 2);
  out.put(end_.directory_disk.value_or(0), 2);
  out.put(end_.records_here.value_or(end_.records.value_or(count16)), 2);
  out.put(end_.records.value_or(count16), 2);
  out.put(end_.directory_bytes.value_or(clamped(directory_bytes)), 4);
  out.put(end_.directory_offset.value_or(clamped(directory_offset)), 4);
  out.put(end_.comment_bytes.value_or(static_cast<std::uint16_t>(end_.comment.size())), 2);
  out.put_text(end_.comment);
  out.put_text(end_.suffix);
}

ZipBuilder torch_archive(ZipBuilder::Style style, std::string_view pickle) {
  constexpr std::string_view kFloats{"\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40", 16};
  ZipBuilder builder(style);
  builder.add("m/data.pkl", pickle)
      .add("m/byteorder", "little")
      .add("m/data/0", kFloats)
      .add("m/version", "3\n");
  return builder;
}

}  // namespace ckpt::test

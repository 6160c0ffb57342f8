#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/io/byte_source.h"

/// Writes ZIP archives field by field, right ones and wrong ones.
///
/// Nothing is repaired: a field that is set in the options is written as it is, every other one gets the
/// value that a correct archive has there.
namespace ckpt::test {

[[nodiscard]] std::vector<std::byte> to_bytes(std::string_view text);

/// A raw deflate stream (libdeflate, level 6).
[[nodiscard]] std::vector<std::byte> deflated(std::string_view text);

/// A ZIP64 field (id 1) that holds these numbers.
[[nodiscard]] std::string zip64_field(const std::vector<std::uint64_t>& numbers);

/// Bytes at places of an otherwise empty file; the rest reads as 0.
class SparseSource final : public ByteSource {
 public:
  SparseSource(std::map<std::uint64_t, std::vector<std::byte>> pieces, std::uint64_t size)
      : pieces_(std::move(pieces)), size_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::map<std::uint64_t, std::vector<std::byte>> pieces_;  // by offset, without overlap
  std::uint64_t size_;
};

/// Fields that the directory entry and the local header both have.
struct ZipHeaderFields {
  std::optional<std::uint32_t> signature;
  std::optional<std::string> name;
  std::optional<std::uint16_t> flags;
  std::optional<std::uint16_t> method;
  std::optional<std::uint32_t> crc;
  std::optional<std::uint32_t> compressed;
  std::optional<std::uint32_t> bytes;
  std::optional<std::string> extra;  ///< of the local header: without the padding of torch
  std::optional<std::uint16_t> extra_length;
  std::optional<std::uint16_t> disk;    ///< directory only
  std::optional<std::uint32_t> offset;  ///< directory only
  std::optional<std::string> comment;   ///< directory only
};

struct ZipRecordOptions {
  ZipHeaderFields local;
  ZipHeaderFields directory;
  /// In both headers, where they do not say otherwise.
  std::optional<std::uint16_t> flags;
  std::optional<std::uint32_t> crc;
  std::uint16_t method = 0;
  /// Uncompressed size, for data that is given deflated.
  std::optional<std::uint64_t> bytes;
  /// Length of the descriptor: 0, 12, 16, 20 or 24; torch style: as torch would.
  std::optional<unsigned> descriptor;
  std::optional<std::uint32_t> descriptor_crc;
  std::optional<std::uint64_t> descriptor_bytes;
  /// Bytes of nobody in front of the local header and behind the descriptor.
  std::string before;
  std::string behind;
  /// Data is this many zero bytes, which are not held in memory; for build_sparse.
  std::uint64_t hole_bytes = 0;
  bool in_directory = true;
  bool has_record = true;  ///< false: only a directory entry
};

struct ZipEndOptions {
  std::string prefix;  ///< in front of everything; offsets do not count it
  std::string before_directory;
  std::string behind_directory;
  std::string comment;
  std::string suffix;
  std::optional<std::uint16_t> disk;
  std::optional<std::uint16_t> directory_disk;
  std::optional<std::uint16_t> records_here;
  std::optional<std::uint16_t> records;
  std::optional<std::uint32_t> directory_bytes;
  std::optional<std::uint32_t> directory_offset;
  std::optional<std::uint16_t> comment_bytes;
  std::optional<std::uint64_t> zip64_record_bytes;
  std::optional<std::uint32_t> zip64_disk;
  std::optional<std::uint64_t> zip64_records;
  std::optional<std::uint64_t> zip64_directory_bytes;
  std::optional<std::uint64_t> zip64_directory_offset;
  std::string zip64_extension;
  std::optional<std::uint32_t> zip64_signature;
  std::optional<std::uint64_t> locator_offset;
  std::optional<std::uint32_t> locator_disks;
  std::optional<bool> has_zip64;  ///< torch style: yes; else where a number needs it
};

/// Where things came to lie.
struct ZipLayout {
  std::map<std::string, std::uint64_t> local_offsets;
  std::map<std::string, std::uint64_t> data_offsets;
  std::map<std::string, std::uint64_t> entry_offsets;
  std::uint64_t directory_offset = 0;
  std::uint64_t zip64_offset = 0;
  std::uint64_t locator_offset = 0;
  std::uint64_t end_offset = 0;
  std::uint64_t size = 0;
};

class ZipBuilder {
 public:
  /// torch style: as torch.save writes (flags 0x0808, numbers of the local header 0, data at multiples of
  /// `alignment` by an "FB" field, descriptors, ZIP64 end record always). Plain: as `zip -0` does.
  enum class Style : std::uint8_t { torch, plain };

  explicit ZipBuilder(Style style = Style::torch) : style_(style) {}

  ZipBuilder& add(std::string_view name, std::vector<std::byte> data, ZipRecordOptions options = {});
  ZipBuilder& add(std::string_view name, std::string_view data, ZipRecordOptions options = {});
  /// Deflates `text` first.
  ZipBuilder& add_deflated(std::string_view name, std::string_view text, ZipRecordOptions options = {});
  /// The options of a record added before.
  [[nodiscard]] ZipRecordOptions& record(std::string_view name);
  [[nodiscard]] ZipEndOptions& end() { return end_; }
  ZipBuilder& set_alignment(std::uint64_t alignment);
  /// Directory entries in this order of positions instead of that of the records.
  ZipBuilder& set_directory_order(std::vector<std::size_t> order);

  [[nodiscard]] std::vector<std::byte> build();
  [[nodiscard]] std::shared_ptr<const ByteSource> build_source();
  /// For archives with holes.
  [[nodiscard]] std::shared_ptr<const ByteSource> build_sparse();
  /// The stretches between the holes, by their place in the file.
  [[nodiscard]] std::map<std::uint64_t, std::vector<std::byte>> build_pieces();
  /// Of the last build.
  [[nodiscard]] const ZipLayout& layout() const { return layout_; }

 private:
  struct Record {
    std::string name;
    std::vector<std::byte> data;
    ZipRecordOptions options;
    std::uint64_t local_offset = 0;
  };
  class Writer;

  void write(Writer& out);
  void write_record(Writer& out, Record& record);
  void write_descriptor(Writer& out, const Record& record);
  void write_entry(Writer& out, const Record& record);
  void write_end(Writer& out, std::uint64_t directory_offset, std::uint64_t directory_bytes,
                 std::uint64_t count);
  [[nodiscard]] bool is_torch() const { return style_ == Style::torch; }
  [[nodiscard]] std::uint16_t flags_of(const Record& record) const;
  [[nodiscard]] unsigned descriptor_of(const Record& record) const;
  [[nodiscard]] std::string local_extra(const Record& record) const;

  Style style_;
  std::vector<Record> records_;
  std::vector<std::size_t> order_;
  std::uint64_t alignment_ = 64;
  ZipEndOptions end_;
  ZipLayout layout_;
};

/// The smallest archive of torch.save: root `m`, one tensor of four floats. `pickle` is `m/data.pkl`.
[[nodiscard]] ZipBuilder torch_archive(ZipBuilder::Style style = ZipBuilder::Style::torch,
                                       std::string_view pickle = "\x80\x02}.");

}  // namespace ckpt::test

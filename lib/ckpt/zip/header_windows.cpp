#include "ckpt/zip/header_windows.h"

#include <algorithm>

#include "ckpt/io/span_reader.h"
#include "ckpt/zip/zip_format.h"

namespace ckpt::zip {

namespace {

// Below this, starting threads costs more than it saves where the pages are cached.
constexpr std::size_t kManyWindows = 256;

// torch pads with 4 to 67 bytes and puts at most 28 of ZIP64 in front: 95.
constexpr std::uint64_t kExtraBytes = 96;
// Data of this size is read over, so that the descriptor behind it is seen without a read of its own.
constexpr std::uint64_t kSmallData = 4096;

std::uint64_t wanted_bytes(const Entry& entry) {
  const std::uint64_t header = kLocalBytes + entry.name.size() + kExtraBytes;
  return entry.compressed_bytes <= kSmallData ? header + entry.compressed_bytes + kMaxDescriptorBytes
                                              : header;
}

class WindowSink final : public SpanSink {
 public:
  WindowSink(const std::vector<Window>& windows, WindowParser& parser) : windows_(windows), parser_(parser) {}

  void prepare(unsigned workers) override { workers_.resize(workers); }

  Status take(unsigned worker, const Span& span, std::uint64_t at, std::span<std::byte> chunk) override {
    const Window& window = windows_[static_cast<std::size_t>(span.tag)];
    Worker& own = workers_[worker];
    if (at == 0 && chunk.size() == window.length) return parser_.parse_window(window, chunk, own.scratch);
    if (at == 0) own.bytes.clear();
    own.bytes.insert(own.bytes.end(), chunk.begin(), chunk.end());
    if (own.bytes.size() < window.length) return {};
    return parser_.parse_window(window, own.bytes, own.scratch);
  }

 private:
  struct Worker {
    std::vector<std::byte> bytes;  // of a window that came in several chunks
    std::vector<std::byte> scratch;
  };
  const std::vector<Window>& windows_;
  WindowParser& parser_;
  std::vector<Worker> workers_;
};

Status read_in_parallel(const std::shared_ptr<const FileSource>& file, const std::vector<Window>& windows,
                        WindowParser& parser) {
  RangePlan plan;
  const std::uint32_t index = plan.add_file(file);
  for (std::size_t i = 0; i < windows.size(); ++i)
    CKPT_TRY(plan.add(index, windows[i].offset, windows[i].length, i));
  WindowSink sink(windows, parser);
  CKPT_LET(SpanReader reader, SpanReader::start(plan, &sink, {}));
  return reader.check();
}

Status read_one_by_one(const ByteSource& source, const std::vector<Window>& windows, WindowParser& parser) {
  std::vector<std::byte> buffer;
  std::vector<std::byte> scratch;
  for (const Window& window : windows) {
    buffer.resize(std::max<std::size_t>(buffer.size(), window.length));
    const std::span<std::byte> bytes = std::span(buffer).first(window.length);
    CKPT_TRY(source.read_at(window.offset, bytes));
    CKPT_TRY(parser.parse_window(window, bytes, scratch));
  }
  return {};
}

}  // namespace

void WindowPlanner::add(const Entry& entry, std::uint32_t place) {
  const std::uint64_t end = entry.local_offset + std::min(wanted_bytes(entry), limit_ - entry.local_offset);
  if (!windows_.empty()) {
    Window& last = windows_.back();
    const std::uint64_t last_end = last.offset + last.length;
    const std::uint64_t gap = entry.local_offset > last_end ? entry.local_offset - last_end : 0;
    const std::uint64_t joined_end = std::max(end, last_end);
    if (gap < kMaxGap && joined_end - last.offset <= kMaxBytes) {
      last.length = static_cast<std::uint32_t>(joined_end - last.offset);
      ++last.count;
      return;
    }
  }
  windows_.push_back({entry.local_offset, static_cast<std::uint32_t>(end - entry.local_offset), place, 1});
}

Status read_windows(const std::shared_ptr<const ByteSource>& source, const std::vector<Window>& windows,
                    WindowParser& parser) {
  const auto file =
      windows.size() > kManyWindows ? std::dynamic_pointer_cast<const FileSource>(source) : nullptr;
  return file ? read_in_parallel(file, windows, parser) : read_one_by_one(*source, windows, parser);
}

}  // namespace ckpt::zip

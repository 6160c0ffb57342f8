#include "ckpt/io/atomic_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/io/platform.h"

namespace ckpt {

namespace {

/// Longest name that every common file system takes (NAME_MAX), in bytes.
constexpr std::size_t kMaxNameBytes = 255;

/// Temporaries of crashed processes with our number may be in the way (in containers it is often 1).
constexpr int kMaxTries = 1000;

/// Names that a signal handler must remove. It takes a name out while it uses it, so that a name that is
/// in its slot is nobody's but its output's.
constexpr std::size_t kMaxUnfinished = 16;
std::array<std::atomic<const char*>, kMaxUnfinished> unfinished{};
static_assert(std::atomic<const char*>::is_always_lock_free, "signal handlers must not wait");

/// A name in the table above. Outputs beyond its room are removed by their destructors alone.
class Registration {
 public:
  explicit Registration(const std::string& path) : name_(strdup(path.c_str())) {
    for (std::size_t i = 0; name_ != nullptr && i < unfinished.size(); ++i) {
      const char* vacant = nullptr;
      if (!unfinished[i].compare_exchange_strong(vacant, name_)) continue;
      slot_ = &unfinished[i];
      return;
    }
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { withdraw(); }

  void withdraw() noexcept {
    const char* mine = name_;
    // Not freed while a handler uses it; the process is about to end then.
    if (slot_ == nullptr || slot_->compare_exchange_strong(mine, nullptr)) std::free(name_);
    slot_ = nullptr;
    name_ = nullptr;
  }

 private:
  char* name_;
  std::atomic<const char*>* slot_ = nullptr;
};

struct Target {
  std::string folder;  ///< "." if the path has none
  std::string prefix;  ///< of the path before the name: empty or ending in a slash
  std::string name;
};

Target split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", "", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(0, slash + 1), path.substr(slash + 1)};
}

/// The first `room` bytes, or a little less so that no UTF-8 character is cut.
std::string shortened(std::string name, std::size_t room) {
  if (name.size() <= room) return name;
  while (room > 0 && (static_cast<unsigned char>(name[room]) & 0xC0U) == 0x80U) --room;
  name.resize(room);
  return name;
}

std::string temporary_name(const std::string& name) {
  static std::atomic<unsigned> counter{0};
  const std::string tail = fmt::format(".ckpt-{}-{}.tmp", platform::process_id(), counter.fetch_add(1));
  return "." + shortened(name, kMaxNameBytes - 1 - tail.size()) + tail;
}

Status check_target(const std::string& target, const Target& parts, bool replace) {
  const auto identity = platform::identify_link(target);
  if (!identity && identity.error().code != ErrorCode::not_found) return fail(identity.error());
  if (!identity) {
    if (!parts.name.empty()) return {};
    return fail(make_error(ErrorCode::not_found, "no such folder").in_file(target));
  }
  const char* const refusal = identity->is_directory ? "is a directory"
                              : !identity->is_regular && !identity->is_link
                                  ? "exists and is not a regular file"
                              : !replace ? "exists already"
                                         : nullptr;
  if (refusal == nullptr) return {};
  return fail(make_error(ErrorCode::would_overwrite, refusal).in_file(target));
}

Status check_space(const std::string& target, const Target& parts, std::uint64_t bytes) {
  const auto free = platform::free_space(parts.folder);
  if (!free) {
    Error error = free.error();
    error.file = target;
    if (error.code == ErrorCode::not_found) error.message = "no such folder";
    return fail(std::move(error));
  }
  if (bytes <= *free) return {};
  return fail(
      make_error(ErrorCode::no_space, fmt::format("no space left: needs {} bytes, has {}", bytes, *free))
          .in_file(target)
          .numbers(std::to_string(bytes), std::to_string(*free)));
}

Result<platform::OutputFile> create_temporary(const Target& target) {
  for (int i = 0;; ++i) {
    auto file = platform::OutputFile::create(target.prefix + temporary_name(target.name));
    const bool is_taken = !file && file.error().code == ErrorCode::would_overwrite;
    if (!is_taken || i == kMaxTries) return file;
  }
}

}  // namespace

struct AtomicFile::State {
  State(std::string path, Target path_parts, std::uint64_t size, const AtomicFileOptions& wanted,
        platform::OutputFile created)
      : target(std::move(path)),
        parts(std::move(path_parts)),
        bytes(size),
        options(wanted),
        file(std::move(created)),
        temporary(file.path()),
        registration(temporary) {}
  ~State() { discard(); }

  void discard() noexcept {
    if (!is_named && !failure) platform::unlink_quietly(temporary.c_str());
    registration.withdraw();
  }

  /// The error as the caller knows the file, with the numbers that a full disk owes.
  [[nodiscard]] Error told(Error error, std::uint64_t needs) const {
    error.file = target;
    if (error.code != ErrorCode::no_space || !error.expected.empty()) return error;
    const auto free = platform::free_space(parts.folder);
    if (!free) return error;
    error.message = fmt::format("no space left: needs {} bytes, has {}: {}", needs, *free, error.message);
    error.numbers(std::to_string(needs), std::to_string(*free));
    return error;
  }

  [[nodiscard]] Status give_up(Error error) {
    Error final_error = told(std::move(error), bytes);
    discard();
    failure = final_error;
    return fail(std::move(final_error));
  }

  [[nodiscard]] Status settle() {
    if (write_failed.load()) return fail(ErrorCode::internal, "a write failed before");
    CKPT_TRY(file.set_default_mode());
    if (options.sync) CKPT_TRY(file.sync());
    return {};
  }

  [[nodiscard]] Status give_name() {
    CKPT_TRY(file.close());
    // Once more, because hours may lie between: rename would replace a FIFO without asking.
    CKPT_TRY(check_target(target, parts, options.replace));
    return platform::rename_file(temporary, target, options.replace);
  }

  const std::string target;
  const Target parts;
  const std::uint64_t bytes;
  const AtomicFileOptions options;
  platform::OutputFile file;
  const std::string temporary;
  Registration registration;
  std::atomic<bool> write_failed{false};
  bool is_flushed = false;
  bool is_named = false;
  std::optional<Error> failure;  ///< the temporary is gone
};

Result<AtomicFile> AtomicFile::create(const std::string& target, std::uint64_t bytes,
                                      const AtomicFileOptions& options) {
  const Target parts = split(target);
  CKPT_TRY(check_target(target, parts, options.replace));
  CKPT_TRY(check_space(target, parts, bytes));
  auto file = create_temporary(parts);
  if (!file) {
    Error error = std::move(file).error();
    error.file = target;
    return fail(std::move(error));
  }
  auto state = std::make_unique<State>(target, parts, bytes, options, *std::move(file));
  Status allocated = state->file.allocate(bytes);
  // A refused allocation may have eaten all free space (ext4), so the file goes at once.
  if (!allocated) CKPT_TRY(state->give_up(std::move(allocated).error()));
  return AtomicFile(std::move(state));
}

AtomicFile::AtomicFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;
AtomicFile& AtomicFile::operator=(AtomicFile&&) noexcept = default;
AtomicFile::~AtomicFile() = default;

Status AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  Status written = state_->file.write_at(offset, bytes);
  if (written) return written;
  state_->write_failed.store(true);
  const std::uint64_t end = checked_add(offset, bytes.size()).value_or(offset);
  return fail(state_->told(std::move(written).error(), std::max(end, state_->bytes)));
}

Status AtomicFile::flush() {
  if (state_->failure) return fail(*state_->failure);
  if (state_->is_flushed) return {};
  Status settled = state_->settle();
  if (!settled) return state_->give_up(std::move(settled).error());
  state_->is_flushed = true;
  return {};
}

Status AtomicFile::commit() {
  CKPT_TRY(flush());
  if (state_->is_named) return fail(ErrorCode::internal, "the output has its name already");
  Status named = state_->give_name();
  if (!named) return state_->give_up(std::move(named).error());
  state_->is_named = true;
  state_->registration.withdraw();
  return state_->options.sync ? platform::sync_directory(state_->parts.folder) : Status();
}

void discard_unfinished_files() noexcept {
  for (std::atomic<const char*>& slot : unfinished) {
    const char* const path = slot.exchange(nullptr);
    if (path == nullptr) continue;
    platform::unlink_quietly(path);
    const char* vacant = nullptr;
    slot.compare_exchange_strong(vacant, path);
  }
}

}  // namespace ckpt

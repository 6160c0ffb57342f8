#include "ckpt/io/atomic_file.h"

#include <filesystem>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "ckpt/io/byte_reader.h"
#include "ckpt/io/platform.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace {

using ckpt::as_bytes;
using ckpt::AtomicFile;
using ckpt::AtomicFileOptions;
using ckpt::ErrorCode;
using ckpt::test::read_file;
using ckpt::test::TempDir;
using Names = std::vector<std::string>;

const AtomicFileOptions kReplace{.replace = true, .sync = false};
const AtomicFileOptions kKeep{.replace = false, .sync = false};

void write_and_commit(const std::string& target, std::string_view text, const AtomicFileOptions& options) {
  auto file = AtomicFile::create(target, text.size(), options);
  REQUIRE(file);
  REQUIRE(file->write_at(0, as_bytes(text)));
  REQUIRE(file->commit());
}

/// Files above `bytes` fail with EFBIG instead of a signal while this lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_CASE("atomic_file: before commit, only a temporary; after it, only the target", "[io]") {
  const TempDir folder;
  const std::string target = folder.file("model.safetensors");
  auto file = AtomicFile::create(target, 10, {});
  REQUIRE(file);
  REQUIRE(folder.names().size() == 1);
  CHECK(folder.names()[0].starts_with(".model.safetensors.ckpt-" + std::to_string(getpid()) + "-"));
  CHECK(folder.names()[0].ends_with(".tmp"));
  struct stat status {};
  REQUIRE(stat(folder.file(folder.names()[0]).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600);

  REQUIRE(file->write_at(5, as_bytes("56789")));
  REQUIRE(file->write_at(0, as_bytes("01234")));
  REQUIRE(file->flush());
  CHECK_FALSE(std::filesystem::exists(target));
  REQUIRE(file->commit());
  CHECK(folder.names() == Names{"model.safetensors"});
  CHECK(read_file(target) == "0123456789");
  CHECK_FALSE(file->commit());
  CHECK(folder.names() == Names{"model.safetensors"});
}

TEST_CASE("atomic_file: mode, what the umask leaves", "[io]") {
  const TempDir folder;
  const mode_t before = umask(027);
  write_and_commit(folder.file("a"), "x", kKeep);
  umask(before);
  struct stat status {};
  REQUIRE(stat(folder.file("a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0640);
}

TEST_CASE("atomic_file: a size but no bytes, zeros of that size", "[io]") {
  const TempDir folder;
  auto file = AtomicFile::create(folder.file("a"), 5000, kKeep);
  REQUIRE(file);
  REQUIRE(file->commit());
  CHECK(read_file(folder.file("a")) == std::string(5000, '\0'));
  write_and_commit(folder.file("empty"), "", kKeep);
  CHECK(std::filesystem::file_size(folder.file("empty")) == 0);
}

TEST_CASE("atomic_file: destroyed without commit, the old file intact and nothing left", "[io]") {
  const TempDir folder;
  const std::string target = folder.write_file("a", std::string_view("old"));
  {
    auto file = AtomicFile::create(target, 3, kReplace);
    REQUIRE(file);
    REQUIRE(file->write_at(0, as_bytes("new")));
    AtomicFile moved = *std::move(file);
    CHECK(folder.names().size() == 2);
  }
  CHECK(folder.names() == Names{"a"});
  CHECK(read_file(target) == "old");
}

TEST_CASE("atomic_file: an existing target, replaced only if asked", "[io]") {
  const TempDir folder;
  const std::string target = folder.write_file("a", std::string_view("old"));
  const auto refused = AtomicFile::create(target, 3, kKeep);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::would_overwrite);
  CHECK(refused.error().file == target);
  CHECK(read_file(target) == "old");
  write_and_commit(target, "new", kReplace);
  CHECK(read_file(target) == "new");
  CHECK(folder.names() == Names{"a"});
}

TEST_CASE("atomic_file: a target that appears before commit, kept", "[io]") {
  const TempDir folder;
  const std::string target = folder.file("a");
  auto file = AtomicFile::create(target, 3, kKeep);
  REQUIRE(file);
  folder.write_file("a", std::string_view("theirs"));
  const auto committed = file->commit();
  REQUIRE_FALSE(committed);
  CHECK(committed.error().code == ErrorCode::would_overwrite);
  CHECK(file->commit().error().code == ErrorCode::would_overwrite);
  CHECK(folder.names() == Names{"a"});
  CHECK(read_file(target) == "theirs");
}

TEST_CASE("atomic_file: a directory, a FIFO or a device, never replaced", "[io]") {
  const TempDir folder;
  std::filesystem::create_directory(folder.file("folder"));
  REQUIRE(mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  for (const std::string& target : {folder.file("folder"), folder.file("folder/"), folder.file("fifo"),
                                    std::string("/dev/null"), std::string("."), std::string("/")}) {
    const auto file = AtomicFile::create(target, 3, kReplace);
    REQUIRE_FALSE(file);
    CHECK(file.error().code == ErrorCode::would_overwrite);
  }
  CHECK(folder.names() == Names{"fifo", "folder"});
}

TEST_CASE("atomic_file: a link, replaced itself and its target kept", "[io]") {
  const TempDir folder;
  folder.write_file("real", std::string_view("old"));
  std::filesystem::create_symlink("real", folder.file("link"));
  std::filesystem::create_symlink("nowhere", folder.file("dangling"));
  CHECK(AtomicFile::create(folder.file("link"), 3, kKeep).error().code == ErrorCode::would_overwrite);
  CHECK(AtomicFile::create(folder.file("dangling"), 3, kKeep).error().code == ErrorCode::would_overwrite);
  write_and_commit(folder.file("link"), "new", kReplace);
  CHECK(read_file(folder.file("real")) == "old");
  CHECK(read_file(folder.file("link")) == "new");
  CHECK_FALSE(std::filesystem::is_symlink(folder.file("link")));
}

TEST_CASE("atomic_file: no such folder, not-found", "[io]") {
  const TempDir folder;
  for (const std::string& target : {folder.file("missing/a"), folder.file("missing/"), std::string()}) {
    const auto file = AtomicFile::create(target, 3, kKeep);
    REQUIRE_FALSE(file);
    CHECK(file.error().code == ErrorCode::not_found);
    CHECK(file.error().file == target);
  }
}

TEST_CASE("atomic_file: a folder that may not be written, permission before any byte", "[io]") {
  if (geteuid() == 0) return;
  const TempDir folder;
  std::filesystem::create_directory(folder.file("closed"));
  REQUIRE(chmod(folder.file("closed").c_str(), 0555) == 0);
  CHECK(AtomicFile::create(folder.file("closed/a"), 3, kKeep).error().code == ErrorCode::permission);
}

TEST_CASE("atomic_file: more bytes than are free, no-space with both numbers", "[io]") {
  const TempDir folder;
  const std::uint64_t bytes = 1ULL << 60U;
  const auto file = AtomicFile::create(folder.file("a"), bytes, kKeep);
  REQUIRE_FALSE(file);
  CHECK(file.error().code == ErrorCode::no_space);
  CHECK(file.error().expected == std::to_string(bytes));
  CHECK(file.error().message.find("needs " + std::to_string(bytes) + " bytes, has ") != std::string::npos);
  CHECK(folder.names().empty());
}

TEST_CASE("atomic_file: a limit on the size of files, no-space and nothing left", "[io]") {
  const TempDir folder;
  const std::string target = folder.write_file("a", std::string_view("old"));
  const FileSizeLimit limit(1U << 16U);
  const auto refused = AtomicFile::create(target, 1U << 20U, kReplace);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::no_space);
  CHECK(refused.error().expected == "1048576");
  CHECK(folder.names() == Names{"a"});
  CHECK(read_file(target) == "old");
}

TEST_CASE("atomic_file: a write that fails, commit refuses and the old file stays", "[io]") {
  const TempDir folder;
  const std::string target = folder.write_file("a", std::string_view("old"));
  auto file = AtomicFile::create(target, 10, kReplace);
  REQUIRE(file);
  {
    const FileSizeLimit limit(1U << 16U);
    const auto written = file->write_at(0, std::vector<std::byte>(1U << 17U));
    REQUIRE_FALSE(written);
    CHECK(written.error().code == ErrorCode::no_space);
    CHECK(written.error().file == target);
    CHECK(written.error().message.starts_with("no space left: needs 131072 bytes, has "));
  }
  CHECK_FALSE(file->commit());
  CHECK(folder.names() == Names{"a"});
  CHECK(read_file(target) == "old");
}

TEST_CASE("atomic_file: a long name, the temporary's still fits", "[io]") {
  const TempDir folder;
  std::string accents;
  for (int i = 0; i < 127; ++i) accents += "\u00e9";
  for (const std::string& name : {std::string(255, 'n'), accents + "x", "x" + accents}) {
    auto file = AtomicFile::create(folder.file(name), 1, kKeep);
    REQUIRE(file);
    REQUIRE(folder.names().size() == 1);
    CHECK(folder.names()[0].size() <= 255);
    CHECK(folder.names()[0].size() >= 253);
    REQUIRE(file->commit());
    CHECK(folder.names() == Names{name});
    std::filesystem::remove(folder.file(name));
  }
}

TEST_CASE("atomic_file: writers in several threads, every byte in its place", "[io]") {
  const TempDir folder;
  auto file = AtomicFile::create(folder.file("a"), 4 * 1000, kKeep);
  REQUIRE(file);
  std::vector<std::thread> writers;
  for (unsigned part = 0; part < 4; ++part) {
    writers.emplace_back([&, part] {
      const std::string text(1000, static_cast<char>('a' + part));
      (void)file->write_at(part * 1000, as_bytes(text));
    });
  }
  for (auto& writer : writers) writer.join();
  REQUIRE(file->commit());
  CHECK(read_file(folder.file("a")) ==
        std::string(1000, 'a') + std::string(1000, 'b') + std::string(1000, 'c') + std::string(1000, 'd'));
}

TEST_CASE("discard_unfinished_files: removes temporaries and nothing else", "[io]") {
  const TempDir folder;
  write_and_commit(folder.file("done"), "x", kKeep);
  // More than the handler's table has room for, so that the rest must go by destructor.
  std::vector<AtomicFile> files;
  for (int i = 0; i < 20; ++i) files.push_back(AtomicFile::create(folder.file("a"), 1, kKeep).value());
  CHECK(folder.names().size() == 21);
  ckpt::discard_unfinished_files();
  CHECK(folder.names().size() == 5);
  files.clear();
  CHECK(folder.names() == Names{"done"});
}

TEST_CASE("rename_file: without replacing, an existing name is kept", "[io]") {
  const TempDir folder;
  const auto from = folder.write_file("from", std::string_view("new"));
  const auto to = folder.write_file("to", std::string_view("old"));
  CHECK(ckpt::platform::rename_file(from, to, false).error().code == ErrorCode::would_overwrite);
  CHECK(read_file(to) == "old");
  REQUIRE(ckpt::platform::rename_file(from, to, true));
  CHECK(folder.names() == Names{"to"});
  REQUIRE(ckpt::platform::rename_file(to, from, false));
  CHECK(folder.names() == Names{"from"});
}

}  // namespace

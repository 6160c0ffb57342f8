#include "ckpt/io/platform.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include "ckpt/io/byte_reader.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace {

using namespace ckpt::platform;
using ckpt::ErrorCode;
using ckpt::test::pattern_bytes;
using ckpt::test::TempDir;

ErrorCode code_of_opening(const std::string& path) {
  const auto file = File::open_for_reading(path);
  REQUIRE_FALSE(file);
  CHECK(file.error().file == path);
  return file.error().code;
}

TEST_CASE("open_for_reading: nothing there, not-found", "[io]") {
  const TempDir folder;
  const auto plain = folder.write_file("plain", std::string_view("x"));
  CHECK(code_of_opening(folder.file("missing")) == ErrorCode::not_found);
  CHECK(code_of_opening(plain + "/below") == ErrorCode::not_found);
  CHECK(code_of_opening("") == ErrorCode::not_found);
  std::filesystem::create_symlink("missing", folder.file("dangling"));
  CHECK(code_of_opening(folder.file("dangling")) == ErrorCode::not_found);
  CHECK(File::open_for_reading(folder.file("dangling")).error().message ==
        "is a link to a file that does not exist");
}

TEST_CASE("open_for_reading: a name with a NUL byte, not another file", "[io]") {
  const TempDir folder;
  const auto plain = folder.write_file("plain", std::string_view("x"));
  CHECK(code_of_opening(plain + std::string("\0.pt", 4)) == ErrorCode::not_found);
}

TEST_CASE("open_for_reading: a directory, FIFO, socket or device, refused at once by kind", "[io]") {
  const TempDir folder;
  REQUIRE(mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = folder.file("socket");
  REQUIRE(name.size() < sizeof(address.sun_path));
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  REQUIRE(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  for (const auto& [path, text] : {std::pair<std::string, std::string>{folder.path(), "is a directory"},
                                   {folder.file("fifo"), "is a FIFO"},
                                   {name, "is a socket"},
                                   {"/dev/zero", "is a character device"}}) {
    CHECK(code_of_opening(path) == ErrorCode::io);
    CHECK(File::open_for_reading(path).error().message == text + ", not a regular file");
  }
  close(listener);
}

TEST_CASE("open_for_reading: a file of somebody else, permission", "[io]") {
  if (geteuid() == 0) return;
  const TempDir folder;
  const auto path = folder.write_file("closed", std::string_view("x"));
  REQUIRE(chmod(path.c_str(), 0) == 0);
  CHECK(code_of_opening(path) == ErrorCode::permission);
}

TEST_CASE("identify: links followed, identify_link: not", "[io]") {
  const TempDir folder;
  const auto path = folder.write_file("plain", std::string_view("0123456789"));
  std::filesystem::create_symlink("plain", folder.file("link"));
  std::filesystem::create_hard_link(path, folder.file("hard"));
  const auto plain = identify(path).value();
  CHECK(plain.size == 10);
  CHECK(plain.is_regular);
  CHECK_FALSE(plain.is_directory);
  CHECK(plain.same_file(identify(folder.file("link")).value()));
  CHECK(plain.same_file(identify(folder.file("hard")).value()));
  CHECK(identify_link(folder.file("link")).value().is_link);
  CHECK_FALSE(plain.same_file(identify_link(folder.file("link")).value()));
  CHECK(identify(folder.path()).value().is_directory);
  CHECK(identify(folder.file("missing")).error().code == ErrorCode::not_found);
  CHECK(plain == File::open_for_reading(path).value().identity().value());
}

TEST_CASE("list_directory: all names, hidden ones too", "[io]") {
  const TempDir folder;
  folder.write_file("b", std::string_view());
  folder.write_file(".a", std::string_view());
  auto names = list_directory(folder.path()).value();
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{".a", "b"});
  CHECK(list_directory(folder.file("missing")).error().code == ErrorCode::not_found);
  CHECK(list_directory(folder.file("b")).error().code == ErrorCode::not_found);
}

TEST_CASE("read_some: inside, at and behind the end", "[io]") {
  const TempDir folder;
  const auto bytes = pattern_bytes(100);
  const auto file = File::open_for_reading(folder.write_file("a", bytes)).value();
  std::vector<std::byte> out(60);
  CHECK(file.read_some(0, out).value() == 60);
  CHECK(std::equal(out.begin(), out.end(), bytes.begin()));
  CHECK(file.read_some(60, out).value() == 40);
  CHECK(file.read_some(100, out).value() == 0);
  CHECK(file.read_some(1ULL << 40U, out).value() == 0);
}

TEST_CASE("read_and_drop: more than the scratch holds, one call", "[io]") {
  const TempDir folder;
  const auto file = File::open_for_reading(folder.write_file("a", pattern_bytes(100'000))).value();
  std::vector<std::byte> scratch(4096);
  CHECK(file.read_and_drop(0, 50'000, scratch).value() == 50'000);
  CHECK(file.read_and_drop(90'000, 50'000, scratch).value() == 10'000);
  CHECK(file.read_and_drop(100'000, 1, scratch).value() == 0);
}

TEST_CASE("reopen: the same file, even under another name", "[io]") {
  const TempDir folder;
  const auto path = folder.write_file("a", pattern_bytes(100));
  const auto file = File::open_for_reading(path).value();
  CHECK(file.reopen().value().identity().value() == file.identity().value());
  std::filesystem::rename(path, folder.file("b"));
  folder.write_file("a", pattern_bytes(50));
  const auto again = file.reopen();
  // By descriptor it is the old file; where only the path is left, the answer must not be the new one.
  if (again) {
    CHECK(again->identity().value().same_file(file.identity().value()));
  } else {
    CHECK(again.error().code == ErrorCode::changed);
  }
}

TEST_CASE("output_file: an existing name or a link, would-overwrite", "[io]") {
  const TempDir folder;
  const auto path = folder.write_file("a", std::string_view("old"));
  std::filesystem::create_symlink("nowhere", folder.file("link"));
  CHECK(OutputFile::create(path).error().code == ErrorCode::would_overwrite);
  CHECK(OutputFile::create(folder.file("link")).error().code == ErrorCode::would_overwrite);
  CHECK(OutputFile::create(folder.file("missing/a")).error().code == ErrorCode::not_found);
  CHECK(ckpt::test::read_file(path) == "old");
}

TEST_CASE("output_file: allocate, the exact size at once", "[io]") {
  const TempDir folder;
  auto file = OutputFile::create(folder.file("a")).value();
  REQUIRE(file.allocate(123'457));
  CHECK(file.identity().value().size == 123'457);
  CHECK(file.allocate(1ULL << 63U).error().code == ErrorCode::no_space);
  REQUIRE(file.sync());
  REQUIRE(file.close());
  REQUIRE(file.close());
}

TEST_CASE("sync_directory: a folder, done; nothing there, not-found", "[io]") {
  const TempDir folder;
  CHECK(sync_directory(folder.path()));
  CHECK(sync_directory(folder.file("missing")).error().code == ErrorCode::not_found);
}

TEST_CASE("unlink_quietly: a name or none, no complaint and errno kept", "[io]") {
  const TempDir folder;
  const auto path = folder.write_file("a", std::string_view("x"));
  unlink_quietly(path.c_str());
  CHECK(folder.names().empty());
  errno = 77;
  unlink_quietly(path.c_str());
  CHECK(errno == 77);
}

TEST_CASE("ask_resident: a file just read, its pages counted", "[io]") {
  const TempDir folder;
  const std::uint64_t page = page_size();
  const auto bytes = pattern_bytes(static_cast<std::size_t>(page) * 10 + 1);
  const auto file = File::open_for_reading(folder.write_file("a", bytes)).value();
  std::vector<std::byte> scratch(bytes.size());
  REQUIRE(file.read_some(0, scratch));
  const auto answer = ask_resident(file, 0, bytes.size(), true).value();
  REQUIRE(answer);
  CHECK(answer->pages == 11);
  CHECK(answer->resident_pages <= 11);
  CHECK(answer->map.size() == 11);
  CHECK(std::count(answer->map.begin(), answer->map.end(), 1) == static_cast<long>(answer->resident_pages));
}

TEST_CASE("ask_resident: ranges, the pages that they touch", "[io]") {
  const TempDir folder;
  const std::uint64_t page = page_size();
  const auto file =
      File::open_for_reading(folder.write_file("a", pattern_bytes(static_cast<std::size_t>(page) * 4)))
          .value();
  CHECK(ask_resident(file, 0, 0, false).value()->pages == 0);
  CHECK(ask_resident(file, page - 1, 1, false).value()->pages == 1);
  CHECK(ask_resident(file, page - 1, 2, false).value()->pages == 2);
  CHECK(ask_resident(file, page, page, true).value()->map.size() == 1);
  CHECK(ask_resident(file, UINT64_MAX, 1, false).error().code == ErrorCode::usage);
  CHECK(ask_resident(file, 1, UINT64_MAX, false).error().code == ErrorCode::usage);
}

TEST_CASE("ask_resident: a sparse file longer than one window, nothing read", "[io]") {
  const TempDir folder;
  const auto path = folder.write_file("sparse", std::string_view());
  const std::uint64_t size = (300ULL << 20U) + 5;
  REQUIRE(truncate(path.c_str(), static_cast<off_t>(size)) == 0);
  const auto file = File::open_for_reading(path).value();
  const auto answer = ask_resident(file, 0, size, false).value();
  REQUIRE(answer);
  CHECK(answer->pages == size / page_size() + 1);
  CHECK(answer->resident_pages == 0);
}

TEST_CASE("evict: a file in use by nobody, pages may only become fewer", "[io]") {
  const TempDir folder;
  const auto bytes = pattern_bytes(1U << 20U);
  const auto file = File::open_for_reading(folder.write_file("a", bytes)).value();
  std::vector<std::byte> scratch(bytes.size());
  REQUIRE(file.read_some(0, scratch));
  const auto before = ask_resident(file, 0, bytes.size(), false).value();
  REQUIRE(evict(file));
  const auto after = ask_resident(file, 0, bytes.size(), false).value();
  REQUIRE(before);
  REQUIRE(after);
  // On tmpfs all stay, elsewhere all should go, but nobody promises it.
  CHECK(after->resident_pages <= before->resident_pages);
  CHECK(file.read_some(0, scratch).value() == bytes.size());
  CHECK(scratch == bytes);
}

TEST_CASE("memory_headroom: on this machine, a number and its reason", "[io]") {
  const auto headroom = memory_headroom();
  REQUIRE(headroom);
  CHECK(headroom->bytes > 0);
  CHECK_FALSE(headroom->decided_by.empty());
}

TEST_CASE("facts about the machine: plausible", "[io]") {
  CHECK(usable_processors() >= 1);
  CHECK(usable_processors() <= std::max(1U, std::thread::hardware_concurrency()));
  CHECK(peak_resident_bytes() > 1U << 20U);
  CHECK(page_size() >= 4096);
  CHECK(system_name().find(' ') != std::string::npos);
  const TempDir folder;
  CHECK(free_space(folder.path()).value() > 0);
  CHECK(free_space(folder.file("missing")).error().code == ErrorCode::not_found);
}

}  // namespace

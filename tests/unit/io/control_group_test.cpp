#include "ckpt/io/control_group.h"

#include <filesystem>

#include "support/catch.h"
#include "support/temp_dir.h"

namespace {

using namespace ckpt::platform;
using ckpt::test::TempDir;

constexpr std::uint64_t kMiB = 1U << 20U;

std::string mount_line(const std::string& root, const std::string& point, const std::string& kind) {
  return "35 25 0:30 " + root + " " + point + " rw,nosuid shared:9 - " + kind + "\n";
}
std::string unified(const TempDir& mount, const std::string& root = "/") {
  return mount_line(root, mount.path(), "cgroup2 cgroup2 rw,nsdelegate");
}
std::string first_version(const TempDir& mount, const std::string& controllers) {
  return mount_line("/", mount.path(), "cgroup cgroup rw," + controllers);
}

void write_group(const TempDir& mount, const std::string& group, const std::string& file,
                 const std::string& text) {
  std::filesystem::create_directories(mount.file(group));
  mount.write_file(group + "/" + file, std::string_view(text));
}

TEST_CASE("control_group: version 2, the group and all above it", "[io]") {
  const TempDir mount;
  const auto groups = find_control_groups("0::/a/b\n", unified(mount));
  CHECK(groups.unified == std::vector<std::string>{mount.file("a/b"), mount.file("a"), mount.path()});
  CHECK(groups.memory.empty());
  CHECK(groups.cpu.empty());
}

TEST_CASE("control_group: both versions side by side, each with its own path", "[io]") {
  const TempDir mount;
  const TempDir memory;
  const TempDir cpu;
  const auto groups =
      find_control_groups("5:memory:/m\n4:cpu,cpuacct:/c/d\n1:name=systemd:/s\n0::/u\n",
                          "22 1 0:20 / / rw - ext4 /dev/root rw\n" + unified(mount) +
                              first_version(memory, "memory") + first_version(cpu, "cpu,cpuacct"));
  CHECK(groups.unified.front() == mount.file("u"));
  CHECK(groups.memory.front() == memory.file("m"));
  CHECK(groups.cpu == std::vector<std::string>{cpu.file("c/d"), cpu.file("c"), cpu.path()});
}

TEST_CASE("control_group: a container that sees the host's path, the mount point stands for it", "[io]") {
  const TempDir mount;
  const auto part = find_control_groups("0::/docker/x/y\n", unified(mount, "/docker/x"));
  CHECK(part.unified == std::vector<std::string>{mount.file("y"), mount.path()});
  const auto whole = find_control_groups("0::/docker/x\n", unified(mount, "/docker/x"));
  CHECK(whole.unified == std::vector<std::string>{mount.path()});
  const auto other = find_control_groups("0::/../z\n", unified(mount, "/docker/x"));
  CHECK(other.unified == std::vector<std::string>{mount.path()});
}

TEST_CASE("control_group: an escaped mount point, unescaped", "[io]") {
  const auto groups =
      find_control_groups("0::/\n", mount_line("/", "/odd\\040place\\134x", "cgroup2 cgroup2 rw"));
  CHECK(groups.unified == std::vector<std::string>{"/odd place\\x"});
}

TEST_CASE("control_group: garbage, no groups", "[io]") {
  for (const char* const text : {"", "x", "::", "0:", "\n\n", " - cgroup2", "1 2 3 - cgroup2\n"}) {
    const auto groups = find_control_groups(text, text);
    CHECK_FALSE(group_headroom(groups));
    CHECK_FALSE(group_processors(groups));
  }
}

TEST_CASE("group_headroom: clean file pages, count as free", "[io]") {
  const TempDir mount;
  write_group(mount, "a", "memory.max", std::to_string(100 * kMiB) + "\n");
  write_group(mount, "a", "memory.high", "max\n");
  write_group(mount, "a", "memory.current", std::to_string(95 * kMiB) + "\n");
  write_group(
      mount, "a", "memory.stat",
      "anon 1\ninactive_file 52428800\nactive_file 20971520\nfile_dirty 10485760\nfile_writeback 2097152\n");
  const auto headroom = group_headroom(find_control_groups("0::/a\n", unified(mount)));
  REQUIRE(headroom);
  CHECK(headroom->bytes == (100 - 95 + 50 + 20 - 10 - 2) * kMiB);
  CHECK(headroom->decided_by == mount.file("a"));
}

TEST_CASE("group_headroom: several limits, the tightest counts", "[io]") {
  const TempDir mount;
  for (const char* const group : {"a", "a/b"}) write_group(mount, group, "memory.current", "0\n");
  write_group(mount, "a/b", "memory.max", "max\n");
  write_group(mount, "a/b", "memory.high", "5000\n");
  write_group(mount, "a", "memory.max", "4000\n");
  const auto groups = find_control_groups("0::/a/b\n", unified(mount));
  CHECK(group_headroom(groups)->bytes == 4000);
  write_group(mount, "a/b", "memory.high", "3000\n");
  CHECK(group_headroom(groups)->bytes == 3000);
  write_group(mount, "a/b", "memory.current", "9999\n");
  CHECK(group_headroom(groups)->bytes == 0);
}

TEST_CASE("group_headroom: version 1, its own names and its own word for no limit", "[io]") {
  const TempDir mount;
  write_group(mount, "m", "memory.limit_in_bytes", "9223372036854771712\n");
  write_group(mount, "m", "memory.usage_in_bytes", "1000\n");
  const auto groups = find_control_groups("5:memory:/m\n", first_version(mount, "memory"));
  CHECK_FALSE(group_headroom(groups));
  write_group(mount, "m", "memory.limit_in_bytes", "5000\n");
  write_group(mount, "m", "memory.stat", "inactive_file 1\ntotal_inactive_file 400\ntotal_active_file 200\n");
  CHECK(group_headroom(groups)->bytes == 4600);
}

TEST_CASE("group_processors: quotas, rounded up and the tightest counts", "[io]") {
  const TempDir mount;
  write_group(mount, "a/b", "cpu.max", "max 100000\n");
  const auto groups = find_control_groups("0::/a/b\n", unified(mount));
  CHECK_FALSE(group_processors(groups));
  write_group(mount, "a", "cpu.max", "350000 100000\n");
  CHECK(group_processors(groups) == 4U);
  write_group(mount, "a/b", "cpu.max", "1000 100000\n");
  CHECK(group_processors(groups) == 1U);
}

TEST_CASE("group_processors: version 1, -1 is no quota", "[io]") {
  const TempDir mount;
  write_group(mount, "c", "cpu.cfs_quota_us", "-1\n");
  write_group(mount, "c", "cpu.cfs_period_us", "100000\n");
  const auto groups = find_control_groups("4:cpu,cpuacct:/c\n", first_version(mount, "cpu,cpuacct"));
  CHECK_FALSE(group_processors(groups));
  write_group(mount, "c", "cpu.cfs_quota_us", "200000\n");
  CHECK(group_processors(groups) == 2U);
}

TEST_CASE("available_memory: the line of meminfo, in bytes", "[io]") {
  CHECK(available_memory("MemTotal: 9 kB\nMemAvailable:   1234 kB\n") == 1234U * 1024U);
  CHECK_FALSE(available_memory("MemTotal: 9 kB\n"));
  CHECK_FALSE(available_memory(""));
}

}  // namespace

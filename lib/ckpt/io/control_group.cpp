#include "ckpt/io/control_group.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "ckpt/base/checked.h"

namespace ckpt::platform {

namespace {

/// Version 1 says "no limit" with the largest page-aligned 63-bit number.
constexpr std::uint64_t kNoLimit = 1ULL << 62U;

/// Which files and fields hold a hierarchy's numbers.
struct MemoryFiles {
  std::vector<std::string> limits;
  std::string usage;
  std::vector<std::string> clean;    ///< fields of memory.stat to add
  std::vector<std::string> unclean;  ///< and to subtract
};

const MemoryFiles& unified_files() {
  // Above memory.high a process is not stopped but slowed down to a crawl: a limit for our purpose.
  static const MemoryFiles files{{"memory.max", "memory.high"},
                                 "memory.current",
                                 {"active_file", "inactive_file"},
                                 {"file_dirty", "file_writeback"}};
  return files;
}

const MemoryFiles& first_version_files() {
  static const MemoryFiles files{{"memory.limit_in_bytes"},
                                 "memory.usage_in_bytes",
                                 {"total_active_file", "total_inactive_file"},
                                 {"total_dirty", "total_writeback"}};
  return files;
}

/// The number at the start of `text`, blanks skipped; empty for words such as "max" and for "-1".
std::optional<std::uint64_t> leading_number(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const auto outcome = std::from_chars(text.data() + start, text.data() + text.size(), number);
  if (outcome.ec != std::errc()) return std::nullopt;
  return number;
}

/// The number behind `field` at the start of a line.
std::optional<std::uint64_t> number_of_field(std::string_view text, std::string_view field) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(field)) return leading_number(line.substr(field.size()));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in_file(const std::string& path) {
  return leading_number(read_small_file(path));
}

std::uint64_t sum_of_fields(std::string_view text, const std::vector<std::string>& fields) {
  std::uint64_t sum = 0;
  for (const std::string& field : fields) {
    sum = checked_add(sum, number_of_field(text, field + " ").value_or(0)).value_or(kNoLimit);
  }
  return sum;
}

std::uint64_t less_or_zero(std::uint64_t from, std::uint64_t what) { return from - std::min(from, what); }

std::optional<std::uint64_t> headroom_of(const std::string& folder, const MemoryFiles& files) {
  std::uint64_t limit = kNoLimit;
  const std::string prefix = folder + "/";
  for (const std::string& name : files.limits) {
    limit = std::min(limit, number_in_file(prefix + name).value_or(kNoLimit));
  }
  const auto usage = number_in_file(prefix + files.usage);
  if (limit >= kNoLimit || !usage) return std::nullopt;
  const std::string stat = read_small_file(prefix + "memory.stat");
  const std::uint64_t clean =
      less_or_zero(sum_of_fields(stat, files.clean), sum_of_fields(stat, files.unclean));
  return less_or_zero(limit, less_or_zero(*usage, clean));
}

void keep_smallest(std::optional<Headroom>& best, const std::vector<std::string>& folders,
                   const MemoryFiles& files) {
  for (const std::string& folder : folders) {
    const auto bytes = headroom_of(folder, files);
    if (bytes && (!best || *bytes < best->bytes)) best = Headroom{*bytes, folder};
  }
}

void keep_smallest(std::optional<unsigned>& best, std::optional<std::uint64_t> quota,
                   std::optional<std::uint64_t> period) {
  if (!quota || !period || *quota == 0 || *period == 0) return;
  const std::uint64_t whole = std::clamp<std::uint64_t>((*quota - 1) / *period + 1, 1, 1U << 20U);
  if (!best || whole < *best) best = static_cast<unsigned>(whole);
}

/// A mount point as mountinfo writes it: blanks and back-slashes are \ooo.
std::string unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    int code = 0;
    const bool is_escape = text[0] == '\\' && text.size() >= 4 &&
                           std::from_chars(text.data() + 1, text.data() + 4, code, 8).ptr == text.data() + 4;
    out.push_back(is_escape ? static_cast<char>(code) : text[0]);
    text.remove_prefix(is_escape ? 4 : 1);
  }
  return out;
}

struct Mount {
  std::string root;   ///< which folder of the hierarchy is mounted
  std::string point;  ///< where
  std::string type;
  std::string options;
};

Mount mount_from(const std::string& line) {
  Mount mount;
  std::istringstream words(line);
  std::string word;
  for (int i = 0; i < 3; ++i) words >> word;
  words >> mount.root >> mount.point;
  while (words >> word && word != "-") continue;
  words >> mount.type >> word >> mount.options;
  mount.root = unescaped(mount.root);
  mount.point = unescaped(mount.point);
  return mount;
}

bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

/// The folder of group `path` below a mount and all folders between, innermost first. A path outside
/// of what is mounted (a container that sees the host's names) leaves the mount point alone.
std::vector<std::string> folders_below(const Mount& mount, std::string path) {
  const std::string root = mount.root == "/" ? "" : mount.root;
  const bool is_inside = path.starts_with(root + "/") || path == root;
  path = is_inside ? path.substr(root.size()) : "";
  if (path == "/" || path.find("/..") != std::string::npos) path.clear();
  std::vector<std::string> folders;
  for (; !path.empty(); path.resize(path.rfind('/'))) folders.push_back(mount.point + path);
  folders.push_back(mount.point);
  return folders;
}

/// The group of a controller ("" for version 2) in lines of "number:controllers:path".
std::optional<std::string> group_path(const std::string& membership, const std::string& controller) {
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches = controller.empty() ? controllers.empty() : has_word(controllers, controller);
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

void fill(std::vector<std::string>& folders, const Mount& mount, const std::optional<std::string>& path) {
  if (folders.empty() && path) folders = folders_below(mount, *path);
}

}  // namespace

ControlGroups find_control_groups(const std::string& membership, const std::string& mounts) {
  ControlGroups groups;
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    // Systems have thousands of mounts, few of which are of interest.
    if (line.find(" - cgroup") == std::string::npos) continue;
    const Mount mount = mount_from(line);
    if (mount.type == "cgroup2") fill(groups.unified, mount, group_path(membership, ""));
    if (mount.type != "cgroup") continue;
    if (has_word(mount.options, "memory")) fill(groups.memory, mount, group_path(membership, "memory"));
    if (has_word(mount.options, "cpu")) fill(groups.cpu, mount, group_path(membership, "cpu"));
  }
  return groups;
}

std::optional<Headroom> group_headroom(const ControlGroups& groups) {
  std::optional<Headroom> best;
  keep_smallest(best, groups.unified, unified_files());
  keep_smallest(best, groups.memory, first_version_files());
  return best;
}

std::optional<unsigned> group_processors(const ControlGroups& groups) {
  std::optional<unsigned> best;
  for (const std::string& folder : groups.unified) {
    const std::string text = read_small_file(folder + "/cpu.max");
    const std::size_t blank = text.find(' ');
    if (blank == std::string::npos) continue;
    keep_smallest(best, leading_number(text), leading_number(std::string_view(text).substr(blank)));
  }
  for (const std::string& folder : groups.cpu) {
    keep_smallest(best, number_in_file(folder + "/cpu.cfs_quota_us"),
                  number_in_file(folder + "/cpu.cfs_period_us"));
  }
  return best;
}

std::optional<std::uint64_t> available_memory(const std::string& meminfo) {
  const auto kibibytes = number_of_field(meminfo, "MemAvailable:");
  return kibibytes ? checked_multiply(*kibibytes, 1024) : std::nullopt;
}

std::string read_small_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace ckpt::platform

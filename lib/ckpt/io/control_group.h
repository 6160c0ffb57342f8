#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/io/platform.h"

/// Control groups of this process (Linux). Versions 1 and 2 may be mounted side by side, and every
/// group above the process's own limits it too. Takes the kernel's texts, so that tests can bring
/// their own; reads only files below the mount points that those texts name.
namespace ckpt::platform {

/// Folders that hold this process, innermost first, for each hierarchy that limits it.
struct ControlGroups {
  std::vector<std::string> unified;  ///< version 2
  std::vector<std::string> memory;   ///< version 1, controller "memory"
  std::vector<std::string> cpu;      ///< version 1, controller "cpu"
};

/// `membership` is the text of /proc/self/cgroup, `mounts` that of /proc/self/mountinfo.
[[nodiscard]] ControlGroups find_control_groups(const std::string& membership, const std::string& mounts);

/// The smallest of limit − (usage − clean file pages) over all groups with a limit; file pages that are
/// neither dirty nor under way to the disk count as free, or a full cache would look like no memory.
/// Empty if no group has a limit.
[[nodiscard]] std::optional<Headroom> group_headroom(const ControlGroups& groups);

/// The smallest processor quota, rounded up to whole processors. Empty if no group has one.
[[nodiscard]] std::optional<unsigned> group_processors(const ControlGroups& groups);

/// "MemAvailable" of the text of /proc/meminfo, in bytes.
[[nodiscard]] std::optional<std::uint64_t> available_memory(const std::string& meminfo);

/// The whole text of a small file; empty if it cannot be read.
[[nodiscard]] std::string read_small_file(const std::string& path);

}  // namespace ckpt::platform

#pragma once

#include <future>
#include <string>
#include <system_error>
#include <vector>

#include "ckpt/jobs/jobs.h"

/// What the jobs have in common: opening under the options of InputOptions, choosing, refusing.
namespace ckpt {

/// Threads to use: the option, else the processors this process may use; 1 to kMaxReaders.
[[nodiscard]] unsigned thread_count(unsigned asked);

void set_activity(Progress* progress, const char* activity);

/// Opens and adds the findings that every job has: dangerous imports (unless allowed), names that collide (an error where
/// `names_count`, else a note), a root that nothing decides.
[[nodiscard]] Result<Model> open_input(const std::string& path, const InputOptions& options, bool names_count,
                                       bool ignores_root_without_roots = false);

/// Indices of the tensors that the patterns choose. Errors: no_match - an include pattern that chooses nothing.
[[nodiscard]] Result<std::vector<std::uint32_t>> select_tensors(const Model& model,
                                                                const Selection& selection);

/// `ambiguous_root` with the candidates, if the model's root is not decided.
[[nodiscard]] Status require_root(const Model& model);

/// The gravest error finding as an Error; success if there is none.
[[nodiscard]] Status require_sound(const std::vector<Finding>& findings);

/// Runs `work` beside the caller, or at once where no thread can be had.
template <class Work>
[[nodiscard]] auto in_background(Work work) -> std::future<decltype(work())> {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, work);
  }
}

}  // namespace ckpt

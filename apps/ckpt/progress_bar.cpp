#include "progress_bar.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "terminal.h"
#include "text_parts.h"

namespace ckpt::app {

namespace {

using namespace std::chrono_literals;
constexpr auto kDelay = 200ms;
constexpr auto kPeriod = 100ms;
constexpr std::size_t kBarColumns = 20;
constexpr std::size_t kEchoColumns =
    4;  // room for the terminal's own ^C, which would wrap the line otherwise

std::string time_left(std::uint64_t done, std::uint64_t total, double seconds) {
  if (done == 0 || done >= total) return {};
  const double left = seconds * static_cast<double>(total - done) / static_cast<double>(done);
  return left < 60 ? fmt::format("  {:.0f} s left", left) : fmt::format("  {:.0f} min left", left / 60);
}

}  // namespace

std::string progress_line(const char* activity, std::uint64_t done, std::uint64_t total, double seconds,
                          std::size_t width) {
  if (total == 0) return shorten(activity, width);
  done = std::min(done, total);
  const auto filled =
      static_cast<std::size_t>(static_cast<double>(done) / static_cast<double>(total) * kBarColumns);
  const std::string bar = "[" + std::string(filled, '#') + std::string(kBarColumns - filled, '.') + "]";
  const std::string text =
      fmt::format("{} {} of {}  {}/s{}  {}", bar, byte_size(done), byte_size(total),
                  byte_size(rate(done, seconds)), time_left(done, total, seconds), activity);
  return shorten(text, width);
}

ProgressBar::ProgressBar(const Progress& progress, bool is_wanted) : progress_(progress) {
  if (!is_wanted) return;
  try {
    thread_ = std::thread([this] { draw_until_done(); });
  } catch (const std::system_error&) {
    // No thread, no bar.
  }
}

ProgressBar::~ProgressBar() {
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  is_done_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ProgressBar::draw_until_done() {
  const auto start = std::chrono::steady_clock::now();
  bool is_drawn = false;
  std::unique_lock lock(mutex_);
  while (!is_done_changed_.wait_for(lock, is_drawn ? kPeriod : kDelay, [this] { return is_done_; })) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string line = progress_line(progress_.activity, progress_.done_bytes, progress_.total_bytes,
                                           seconds, error_width() - kEchoColumns);
    set_bar_visible(true);
    write_err("\r\x1b[K" + line);
    is_drawn = true;
  }
  if (is_drawn) write_err("\r\x1b[K");
  set_bar_visible(false);
}

}  // namespace ckpt::app

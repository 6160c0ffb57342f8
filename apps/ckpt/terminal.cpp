#include "terminal.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#include "ckpt/base/text.h"
#include "ckpt/io/atomic_file.h"

namespace ckpt::app {

namespace {

constexpr std::size_t kNoLimit = 1'000'000;
std::atomic<bool> bar_is_visible{false};

std::size_t width_of(int descriptor, std::size_t otherwise) {
  winsize size{};
  if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return otherwise;
  return size.ws_col;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Async-signal-safe throughout.
extern "C" void end_by_signal(int number) {
  discard_unfinished_files();
  constexpr std::string_view kClear = "\r\x1b[K";
  if (bar_is_visible) (void)!::write(STDERR_FILENO, kClear.data(), kClear.size());
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
  raise(number);
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    out.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

/// East Asian wide and emoji blocks, as terminals draw them.
std::size_t columns_of(std::string_view character) {
  if (character.size() < 3) return 1;
  const auto lead = static_cast<unsigned char>(character[0]);
  const auto second = static_cast<unsigned char>(character[1]);
  if (character.size() == 4) return lead == 0xF0 && second >= 0x9F ? 2 : 1;
  const unsigned code =
      ((lead & 15U) << 12U) | ((second & 63U) << 6U) | (static_cast<unsigned char>(character[2]) & 63U);
  const bool is_wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                       (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                       (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60);
  return is_wide ? 2 : 1;
}

}  // namespace

bool is_terminal(Stream stream) { return isatty(stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO) != 0; }
std::size_t terminal_width() { return width_of(STDOUT_FILENO, kNoLimit); }
std::size_t error_width() { return width_of(STDERR_FILENO, 80); }
bool is_color_refused() {
  const char* value = std::getenv("NO_COLOR");
  return value != nullptr && *value != '\0';
}

bool write_out(std::string_view text) { return write_all(STDOUT_FILENO, text); }
void write_err(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = end_by_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup stays nohup
  }
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, nullptr);
}

void settle_time_zone() { setenv("TZ", ":/etc/localtime", 0); }

void set_bar_visible(bool is_visible) { bar_is_visible = is_visible; }

std::size_t display_width(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return text.size();
  std::size_t columns = 0;
  for (const std::string_view character : characters(text)) columns += columns_of(character);
  return columns;
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  const auto all = characters(text);
  const std::size_t head_columns = width / 2;
  std::string head;
  std::string tail;
  std::size_t used = 0;
  for (std::size_t i = 0; i < all.size() && used + columns_of(all[i]) <= head_columns; ++i) {
    head += all[i];
    used += columns_of(all[i]);
  }
  for (std::size_t i = all.size(); i > 0 && used + 1 + columns_of(all[i - 1]) <= width; --i) {
    tail.insert(0, all[i - 1]);
    used += columns_of(all[i - 1]);
  }
  return head + "…" + tail;
}

}  // namespace ckpt::app

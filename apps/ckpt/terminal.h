#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// What the program asks of the terminal and the process: the only file of apps/ with system calls.
namespace ckpt::app {

enum class Stream { out, err };

[[nodiscard]] bool is_terminal(Stream stream);
/// Columns of the terminal behind standard output; a huge number where there is none.
[[nodiscard]] std::size_t terminal_width();
/// Columns of the terminal behind standard error, 80 if it does not say.
[[nodiscard]] std::size_t error_width();
/// True if `NO_COLOR` is set to anything.
[[nodiscard]] bool is_color_refused();

/// Writes all of `text` to standard output. False if it could not be written (a full disk behind a pipe).
[[nodiscard]] bool write_out(std::string_view text);
void write_err(std::string_view text);

/// Ctrl-C and its kin remove unfinished outputs, clear the progress bar and end the process by the same signal, so
/// that the shell sees 128 + n. Exceeding a file-size limit becomes an error of the write instead.
void install_signal_handlers();
/// Names the time zone file that the C library would look for anyway. Without it libzip, which turns every record's time into
/// local time when it opens an archive, costs a system call a record (100 k records: 0.25 s). No report shows such times.
void settle_time_zone();
/// Tells the handlers that a progress bar stands on the terminal.
void set_bar_visible(bool is_visible);

/// Display columns of UTF-8 text that is already escaped: code points, wide East Asian ones count two.
[[nodiscard]] std::size_t display_width(std::string_view text);
/// Shortens to `width` columns with "…" in the middle.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t width);

}  // namespace ckpt::app

#include "progress_bar.h"

#include "support/catch.h"
#include "terminal.h"

namespace ckpt::app {

TEST_CASE("progress_bar: a line has bar, bytes, rate, time left and activity", "[apps]") {
  CHECK(progress_line("copying", 250'000'000, 1'000'000'000, 2.0, 200) ==
        "[#####...............] 250 MB of 1.00 GB  125 MB/s  6 s left  copying");
  CHECK(progress_line("copying", 1'000'000, 1'000'000'000'000, 1.0, 200).find("min left") !=
        std::string::npos);
}

TEST_CASE("progress_bar: without a total there is only the activity", "[apps]") {
  CHECK(progress_line("reading metadata", 0, 0, 1.0, 80) == "reading metadata");
}

TEST_CASE("progress_bar: the start and the end have no time left", "[apps]") {
  CHECK(progress_line("flushing", 0, 100, 0.0, 200) ==
        "[....................] 0 B of 100 B  0 B/s  flushing");
  CHECK(progress_line("flushing", 100, 100, 1.0, 200) ==
        "[####################] 100 B of 100 B  100 B/s  flushing");
}

TEST_CASE("progress_bar: more than all is all", "[apps]") {
  CHECK(progress_line("x", 150, 100, 1.0, 200).rfind("[####################] 100 B of 100 B", 0) == 0);
}

TEST_CASE("progress_bar: a line never exceeds the terminal", "[apps]") {
  for (const std::size_t width : {0U, 1U, 10U, 40U}) {
    CHECK(display_width(progress_line("copying", 1, 1000, 1.0, width)) <= std::max<std::size_t>(width, 1));
  }
}

TEST_CASE("progress_bar: one that is not wanted does nothing", "[apps]") {
  const Progress progress;
  const ProgressBar bar(progress, false);
  CHECK(progress.done_bytes == 0);
}

}  // namespace ckpt::app

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "exit_code.h"
#include "run.h"
#include "terminal.h"

/// Hands the arguments on. What arrives here as an exception is a bug or a lack of memory, never bad input.
int main(int argc, char** argv) {
  ckpt::app::install_signal_handlers();
  ckpt::app::settle_time_zone();
  try {
    return ckpt::app::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::bad_alloc&) {
    ckpt::app::write_err("ckpt: out of memory [limit]\n");
  } catch (const std::exception& exception) {
    ckpt::app::write_err(std::string("ckpt: ") + exception.what() + " [internal]\n");
  }
  return ckpt::app::kNoAnswer;
}

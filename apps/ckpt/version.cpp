#include "version.h"

namespace ckpt::app {

std::string version_number() { return CKPT_VERSION; }
std::string version_text() { return "ckpt " + version_number(); }

}  // namespace ckpt::app

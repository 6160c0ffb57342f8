// Writes the seeds of fuzz targets whose inputs are made by the builders of tests/support:
//   make_seeds FOLDER      FOLDER/zip/*.zip …, each below 4 KiB

#include "fuzz/make_seeds.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

bool write_seeds(const std::filesystem::path& folder, const ckpt::test::Seeds& seeds) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const auto& [name, content] : seeds) {
    std::ofstream out(folder / name, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    if (!out.flush()) {
      std::fprintf(stderr, "cannot write %s\n", (folder / name).c_str());
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  return write_seeds(folder / "zip", ckpt::test::zip_seeds()) ? 0 : 1;
}

#include "ckpt/jobs/output_path.h"

#include "support/catch.h"
#include "support/temp_dir.h"

namespace ckpt::test {

TEST_CASE("output_path: without an output the input's stem gets the new extension, beside it", "[jobs]") {
  CHECK(output_path("model.pt", "") == "model.safetensors");
  CHECK(output_path("runs/my.model.v1.ckpt", "") == "runs/my.model.v1.safetensors");
  CHECK(output_path("/a.b/model", "") == "/a.b/model.safetensors");
  CHECK(output_path("a/.hidden", "") == "a/.hidden.safetensors");
  CHECK(output_path("a.tar.gz", "") == "a.tar.safetensors");
}

TEST_CASE("output_path: a folder gets the file, a name is taken as it is", "[jobs]") {
  const TempDir folder;
  CHECK(output_path("x/model.pt", folder.path()) == folder.path() + "/model.safetensors");
  CHECK(output_path("x/model.pt", folder.path() + "/") == folder.path() + "/model.safetensors");
  CHECK(output_path("x/model.pt", folder.path() + "/new.bin") == folder.path() + "/new.bin");
  CHECK(output_path("x/model.pt", "out") == "out");
}

}  // namespace ckpt::test

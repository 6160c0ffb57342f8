#include "table.h"

#include "support/catch.h"
#include "terminal.h"

namespace ckpt::app {
namespace {

Table two_rows() {
  Table table({{"NAME", false}, {"BYTES", true}, {"NOTE", false}});
  table.add({"weight", "1,024", "-"});
  table.add({"a.much.longer.name", "8", "shared"});
  return table;
}

}  // namespace

TEST_CASE("table: columns are aligned and nothing stands behind the last", "[apps]") {
  CHECK(two_rows().render(200) ==
        "NAME                BYTES  NOTE\n"
        "weight              1,024  -\n"
        "a.much.longer.name      8  shared\n");
  CHECK(two_rows().render(200, false) ==
        "weight              1,024  -\n"
        "a.much.longer.name      8  shared\n");
}

TEST_CASE("table: the first column gives way, down to 16 columns", "[apps]") {
  Table table({{"NAME", false}, {"N", true}});
  table.add({std::string(60, 'n'), "1"});
  for (const std::size_t width : {63U, 40U, 20U, 3U}) {
    INFO(width);
    const std::string text = table.render(width, false);
    CHECK(display_width(text.substr(0, text.size() - 1)) ==
          std::max<std::size_t>(std::min<std::size_t>(width, 63), 19));
  }
}

TEST_CASE("table: wide characters count two columns", "[apps]") {
  Table table({{"", false}, {"", false}});
  table.add({"重み", "x"});
  table.add({"ab", "y"});
  CHECK(table.render(80, false) == "重み  x\nab    y\n");
}

TEST_CASE("table: text is shortened in the middle, between characters", "[apps]") {
  CHECK(shorten("abcdef", 6) == "abcdef");
  CHECK(shorten("abcdefgh", 5) == "ab…gh");
  CHECK(display_width(shorten("重み重み重み", 7)) <= 7);
  CHECK(display_width("é") == 1);
  CHECK(display_width("\xf0\x9f\x98\x80") == 2);
}

}  // namespace ckpt::app

# Every library that ckpt uses, as imported targets. scripts/packages.txt names the packages.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)

# By pkg-config: Debian 12 has no CMake package of libdeflate, and its libzip package fails unless the
# programs zipcmp, zipmerge and ziptool are installed too.
pkg_check_modules(libdeflate REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)

# The program only.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(spdlog REQUIRED)

if(CKPT_TESTS)
  find_package(Catch2 REQUIRED)
  if(Catch2_VERSION VERSION_LESS 2.13)
    message(FATAL_ERROR "Catch2 2.13 or newer is needed, found ${Catch2_VERSION}")
  endif()
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
endif()

# A fuzz target is tests/fuzz/<name>_fuzz.cpp with seeds in tests/fuzz/seeds/<name>/.
#
# With CKPT_FUZZ (clang) it is a libFuzzer program. Otherwise it is linked with replay_main.cpp, which runs
# it over files: so every target is built and replays its seeds in every test run, and cannot rot.

if(CKPT_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "CKPT_FUZZ needs clang; ${CMAKE_CXX_COMPILER_ID} has no libFuzzer")
endif()

# Coverage counters for the code under test.
function(ckpt_add_fuzz_instrumentation target)
  if(CKPT_FUZZ)
    target_compile_options(${target} INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(${target} INTERFACE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

function(ckpt_add_fuzz_target name)
  set(target ${name}_fuzz)
  set(seeds "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/seeds/${name}")
  add_executable(${target} fuzz/${target}.cpp)
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ckpt_build_options ckpt_static)
  if(CKPT_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz_replay_${name} COMMAND ${target} -runs=0 "${seeds}")
  else()
    target_sources(${target} PRIVATE fuzz/replay_main.cpp)
    add_test(NAME fuzz_replay_${name} COMMAND ${target} "${seeds}")
  endif()
  set_tests_properties(fuzz_replay_${name} PROPERTIES LABELS fuzz TIMEOUT 60)
endfunction()

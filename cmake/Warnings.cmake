# Warnings are errors in CI (CKPT_WERROR), not for users: a newer compiler knows new ones.
function(ckpt_add_warnings target)
  target_compile_options(
    ${target}
    INTERFACE
      -Wall
      -Wextra
      -Wpedantic
      -Wcast-align
      -Wcast-qual
      -Wconversion
      -Wextra-semi
      -Wformat=2
      -Wimplicit-fallthrough
      -Wnon-virtual-dtor
      -Wold-style-cast
      -Woverloaded-virtual
      -Wshadow
      -Wsign-conversion
      -Wundef
      -Wunused)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} INTERFACE -Wduplicated-cond)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # False alarms in std::string, https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
      target_compile_options(${target} INTERFACE -Wno-restrict)
    endif()
  endif()
  if(CKPT_WERROR)
    target_compile_options(${target} INTERFACE -Werror)
  endif()
endfunction()

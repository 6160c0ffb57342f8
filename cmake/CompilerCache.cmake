# ccache makes repeated builds quick. Only for this project's own builds, and never against a launcher
# that the caller has chosen.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CKPT_CCACHE ccache)
  mark_as_advanced(CKPT_CCACHE)
  if(CKPT_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CKPT_CCACHE}")
  endif()
endif()

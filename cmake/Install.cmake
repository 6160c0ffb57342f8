# `cmake --install`: program, shared library, public headers, CMake package, pkg-config file. Everything is
# found relative to itself, so the prefix may be moved.
include(CMakePackageConfigHelpers)

set(CKPT_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/ckpt")
set(CKPT_PKGCONFIG_DIR "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(TARGETS ckpt_program RUNTIME)
install(
  TARGETS ckpt
  EXPORT ckptTargets
  LIBRARY
  FILE_SET HEADERS)
install(EXPORT ckptTargets NAMESPACE ckpt:: DESTINATION "${CKPT_CMAKE_DIR}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/ckptConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/ckptConfig.cmake" INSTALL_DESTINATION "${CKPT_CMAKE_DIR}")
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ckptConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ckptConfig.cmake" "${PROJECT_BINARY_DIR}/ckptConfigVersion.cmake"
        DESTINATION "${CKPT_CMAKE_DIR}")

file(RELATIVE_PATH CKPT_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
file(RELATIVE_PATH CKPT_PC_LIBDIR "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH CKPT_PC_INCLUDEDIR "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/ckpt.pc.in" "${PROJECT_BINARY_DIR}/ckpt.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/ckpt.pc" DESTINATION "${CKPT_PKGCONFIG_DIR}")

# SPDX-License-Identifier: MIT
# Says at the end of configuring what the build will hold.
set(cuda_summary "no")
if(IMGSTAT_HAVE_CUDA)
  list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
  set(cuda_summary "nvcc ${CMAKE_CUDA_COMPILER_VERSION} for ${architectures}")
endif()
message(STATUS "imgstat ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}")
message(STATUS "  CUDA device: ${cuda_summary}")
message(STATUS "  inflate: zlib ${ZLIB_VERSION}, libdeflate ${DEFLATE_VERSION}, ISA-L ${ISAL_VERSION}")
message(STATUS "  tests: ${IMGSTAT_TESTS}, sanitizers: ${IMGSTAT_SANITIZE}")

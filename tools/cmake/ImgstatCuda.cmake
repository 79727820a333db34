# SPDX-License-Identifier: MIT
# Finds nvcc as IMGSTAT_CUDA asks. Sets IMGSTAT_HAVE_CUDA; where it is false the CUDA language is never used.
set(IMGSTAT_HAVE_CUDA OFF)
if(NOT IMGSTAT_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "IMGSTAT_CUDA is '${IMGSTAT_CUDA}'; it should be AUTO, ON or OFF")
endif()
if(IMGSTAT_CUDA STREQUAL "OFF")
  return()
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  # Machine code for these, and PTX of the last for what comes after it.
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 90 CACHE STRING "GPU architectures to compile for")
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static) # the program starts on machines without a driver
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
  set(IMGSTAT_HAVE_CUDA ON)
elseif(IMGSTAT_CUDA STREQUAL "ON")
  message(FATAL_ERROR "IMGSTAT_CUDA=ON, but no working CUDA compiler was found. Put nvcc on PATH, or name it with "
                      "-DCMAKE_CUDA_COMPILER=/path/to/nvcc, or build without the CUDA device: -DIMGSTAT_CUDA=OFF.")
endif()

# imgstat-bench times NPP beside our kernels where the toolkit has it.
function(imgstat_link_npp target)
  if(TARGET CUDA::nppist AND TARGET CUDA::nppial AND TARGET CUDA::nppc)
    target_compile_definitions(${target} PRIVATE IMGSTAT_WITH_NPP)
    target_link_libraries(${target} PRIVATE CUDA::nppist CUDA::nppial CUDA::nppc)
    if(TARGET CUDA::nppicc)
      target_compile_definitions(${target} PRIVATE IMGSTAT_WITH_NPP_LUT)
      target_link_libraries(${target} PRIVATE CUDA::nppicc)
    endif()
  endif()
endfunction()

# SPDX-License-Identifier: MIT
# Finds nvcc as IMGSTAT_CUDA asks. Sets IMGSTAT_HAVE_CUDA; where it is false the CUDA language is never used.
set(IMGSTAT_HAVE_CUDA OFF)
if(IMGSTAT_CUDA STREQUAL "OFF")
  return()
endif()

# pip builds for this machine: the CUDA device where there is a GPU, for that GPU. IMGSTAT_CUDA=ON makes all of it.
if(SKBUILD AND IMGSTAT_CUDA STREQUAL "AUTO")
  if(NOT EXISTS /dev/nvidiactl AND NOT EXISTS /dev/dxg)
    message(STATUS "There is no NVIDIA GPU: the CUDA device is left out (IMGSTAT_CUDA=ON builds it)")
    return()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES native CACHE STRING "GPU architectures to compile for")
endif()

include(CheckLanguage)
check_language(CUDA)
# Distributions have older ones (Ubuntu 22.04: 11.5), which do not know all of these architectures.
if(CMAKE_CUDA_COMPILER)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" unused "${nvcc_version}")
  set(nvcc_version ${CMAKE_MATCH_1})
  if(nvcc_version VERSION_LESS 12)
    if(IMGSTAT_CUDA STREQUAL "ON")
      message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} is nvcc ${nvcc_version}, and 12.0 or newer is needed")
    endif()
    message(WARNING "${CMAKE_CUDA_COMPILER} is nvcc ${nvcc_version}, and 12.0 or newer is needed: no CUDA device is built")
    return()
  endif()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  # Machine code for the architectures in use; PTX of the last family that the compiler knows, for what comes after it.
  # Machine code runs on later members of its family: that for 8.0 on 8.6 and 8.7, that for 10.0 on 10.3.
  set(architectures 80-real 89-real 90)
  if(nvcc_version VERSION_GREATER_EQUAL 12.8)
    set(architectures 80-real 89-real 90-real 100 120-real)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "GPU architectures to compile for")
endif()
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  set(CMAKE_CUDA_FLAGS_RELEASE "-O2 -DNDEBUG") # of the host; kernels have -O3 by default
  if(IMGSTAT_NATIVE) # a short build: one architecture is small
    set(CMAKE_CUDA_FLAGS_RELEASE "-O1 -DNDEBUG")
    string(APPEND CMAKE_CUDA_FLAGS " --no-compress")
  elseif(nvcc_version VERSION_GREATER_EQUAL 12.8)
    string(APPEND CMAKE_CUDA_FLAGS " --compress-mode=size") # a quarter of the bytes in the same time
  endif()
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

# imgstat-bench times nvCOMP beside our inflate where NVCOMP_ROOT names a folder with its include/ and lib64/: that of
# NVIDIA's package nvidia-libnvcomp-cu13 for Python will do.
function(imgstat_link_nvcomp target)
  find_path(NVCOMP_INCLUDE_DIR nvcomp/deflate.h HINTS "${NVCOMP_ROOT}" PATH_SUFFIXES include)
  find_library(NVCOMP_LIBRARY NAMES nvcomp libnvcomp.so.6 HINTS "${NVCOMP_ROOT}" PATH_SUFFIXES lib64)
  if(NVCOMP_INCLUDE_DIR AND NVCOMP_LIBRARY)
    target_compile_definitions(${target} PRIVATE IMGSTAT_WITH_NVCOMP)
    target_include_directories(${target} SYSTEM PRIVATE ${NVCOMP_INCLUDE_DIR})
    target_link_libraries(${target} PRIVATE ${NVCOMP_LIBRARY})
  endif()
endfunction()

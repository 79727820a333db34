# SPDX-License-Identifier: MIT
# What `cmake --install` puts where.
include(CMakePackageConfigHelpers)

install(TARGETS imgstat_static imgstat_shared EXPORT imgstatTargets)
if(TARGET imgstat)
  install(TARGETS imgstat)
endif()
install(FILES src/imgstat.h TYPE INCLUDE)
foreach(page docs/imgstat.1)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endforeach()
# The program prints its own completions; when it is built for another machine, that needs an emulator.
if(TARGET imgstat AND (NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR))
  foreach(completion bash=bash-completion/completions/imgstat zsh=zsh/site-functions/_imgstat
                     fish=fish/vendor_completions.d/imgstat.fish)
    string(REGEX MATCH "(.*)=(.*)/(.*)" unused ${completion})
    set(script ${CMAKE_CURRENT_BINARY_DIR}/completion.${CMAKE_MATCH_1})
    add_custom_command(TARGET imgstat POST_BUILD COMMAND imgstat --completion ${CMAKE_MATCH_1} > ${script})
    install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${CMAKE_MATCH_2} RENAME ${CMAKE_MATCH_3})
  endforeach()
endif()

# pkg-config. Private requirements are what a static link needs beside libimgstat.a.
list(JOIN lib_packages " " PC_REQUIRES_PRIVATE)
set(PC_LIBS_PRIVATE "-lm -pthread")
if("CUDA::cudart_static" IN_LIST lib_links)
  string(APPEND PC_LIBS_PRIVATE " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lstdc++")
endif()
# Relative to the file itself, so that the installed tree may be moved.
set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH PC_PREFIX ${pc_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PC_PREFIX "${PC_PREFIX}")
configure_file(tools/cmake/imgstat.pc.in imgstat.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/imgstat.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# CMake package: imgstat::imgstat (shared) and imgstat::imgstat_static.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/imgstat)
install(EXPORT imgstatTargets NAMESPACE imgstat:: DESTINATION ${package_dir})
configure_package_config_file(tools/cmake/imgstatConfig.cmake.in imgstatConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(imgstatConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/imgstatConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/imgstatConfigVersion.cmake
        DESTINATION ${package_dir})

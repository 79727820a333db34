# SPDX-License-Identifier: MIT
# What `cmake --install` puts where. --component: runtime, cuda, mpi, development or docs alone; --strip: without symbols.
include(CMakePackageConfigHelpers)

install(TARGETS ${libraries} EXPORT imgstatTargets LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
                                                   ARCHIVE COMPONENT development)
if(imgstat_static IN_LIST libraries AND CMAKE_NM AND CMAKE_OBJCOPY)
  install(CODE "
    set(ARCHIVE \"${CMAKE_INSTALL_LIBDIR}/libimgstat.a\")
    if(NOT IS_ABSOLUTE \"\${ARCHIVE}\")
      string(PREPEND ARCHIVE \"\${CMAKE_INSTALL_PREFIX}/\")
    endif()
    string(PREPEND ARCHIVE \"\$ENV{DESTDIR}\")
    set(NM \"${CMAKE_NM}\")
    set(OBJCOPY \"${CMAKE_OBJCOPY}\")
    include(\"${CMAKE_CURRENT_SOURCE_DIR}/tools/cmake/private_names.cmake\")" COMPONENT development)
endif()
install(TARGETS imgstat RUNTIME COMPONENT runtime)
if(TARGET imgstat-mpi)
  install(TARGETS imgstat-mpi RUNTIME COMPONENT mpi)
endif()
if(TARGET imgstat_cuda)
  install(TARGETS imgstat_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/imgstat COMPONENT cuda)
endif()
install(FILES src/imgstat.h src/imgstat_async.h TYPE INCLUDE COMPONENT development)

string(TIMESTAMP manual_date "%Y-%m-%d" UTC) # SOURCE_DATE_EPOCH, where it is set
configure_file(docs/imgstat.1 imgstat.1 @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/imgstat.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
# The program prints its own completions and the pages of its commands; when it is built for another machine, that needs
# an emulator.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  foreach(completion bash=bash-completion/completions/imgstat zsh=zsh/site-functions/_imgstat
                     fish=fish/vendor_completions.d/imgstat.fish)
    string(REGEX MATCH "(.*)=(.*)/(.*)" unused ${completion})
    set(script ${CMAKE_CURRENT_BINARY_DIR}/completion.${CMAKE_MATCH_1})
    add_custom_command(TARGET imgstat POST_BUILD COMMAND imgstat --completion ${CMAKE_MATCH_1} > ${script})
    install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${CMAKE_MATCH_2} RENAME ${CMAKE_MATCH_3}
            COMPONENT runtime)
  endforeach()
  foreach(command stats hist info report compare normalize equalize apply merge devices)
    set(page ${CMAKE_CURRENT_BINARY_DIR}/imgstat-${command}.1)
    add_custom_command(TARGET imgstat POST_BUILD COMMAND imgstat --manual ${command} ${manual_date} > ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
  endforeach()
endif()

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT docs)
file(GLOB user_documents docs/*.md)
install(FILES ${user_documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT docs)
install(DIRECTORY docs/examples docs/pictures DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT docs PATTERN make.py EXCLUDE)

# pkg-config. Private requirements are what a static link needs beside libimgstat.a.
if(imgstat_static IN_LIST libraries)
  list(JOIN lib_packages " " PC_REQUIRES_PRIVATE)
  set(PC_LIBS_PRIVATE "-lm -pthread")
  foreach(library IN LISTS CMAKE_DL_LIBS)
    string(APPEND PC_LIBS_PRIVATE " -l${library}")
  endforeach()
else()
  set(found_modules "") # the shared library brings what it needs
endif()
# Relative to the file itself, so that the installed tree may be moved.
set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH PC_PREFIX ${pc_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PC_PREFIX "${PC_PREFIX}")
file(RELATIVE_PATH PC_INCLUDEDIR ${pc_dir} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(tools/cmake/imgstat.pc.in imgstat.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/imgstat.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)

# CMake package: imgstat::imgstat (shared) and imgstat::imgstat_static.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/imgstat)
install(EXPORT imgstatTargets NAMESPACE imgstat:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(tools/cmake/imgstatConfig.cmake.in imgstatConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(imgstatConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/imgstatConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/imgstatConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)

# `cpack` in the build folder makes a tarball of all this.
set(CPACK_GENERATOR TXZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_SYSTEM_NAME "linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)

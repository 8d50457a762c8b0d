# viva_module(NAME DEPENDS viva::a ... PRIVATE_LIBRARIES lib ...): the library of one folder, all its .cpp files.

function(viva_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE_LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(viva_${name} STATIC ${sources})
  add_library(viva::${name} ALIAS viva_${name})
  target_include_directories(viva_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(viva_${name} PUBLIC ${ARG_DEPENDS} PRIVATE viva_options ${ARG_PRIVATE_LIBRARIES})
endfunction()

# Sources of a directory, sixteen at a time as one: most of what a compiler does for each is headers of the standard library, and
# what templates and inline functions of these become. For builds that are made once, as the gate's; where sources change,
# all that go with them are compiled again.
#
#   sframe_gen_compile_together(TARGET)

# These define names that another of their directory has as well, apart by nothing but being in two sources. If one that is new
# does ("redefinition of ..."), it belongs here. So does one of whose types g++ warns where its file is included
# (-Wsubobject-linkage).
set(sframe_gen_apart
    src/cli/launch.cpp
    src/cli/file_work.cpp
    src/cli/option_table.cpp
    src/cli/report/text.cpp
    src/convert/c_interface.cpp
    src/elf/machine.cpp
    src/elf/plan/movable.cpp
    src/elf/undo/undo_record.cpp
    src/object/object_writer.cpp
    src/stubs/forms_amd64.cpp
    src/stubs/forms_s390x.cpp
    src/trace/recorded/core_file.cpp
    src/trace/options.cpp
    src/trace/perf/record.cpp
    src/trace/perf/recording_file.cpp
    src/trace/recorded/recording.cpp
    src/trace/walk/dwarf_walker.cpp
    src/trace/walk/kept_file.cpp
    src/trace/walk/registers.cpp
    src/verify/instruction_s390x.cpp
    src/verify/libdwarf.cpp
    tests/cfi/rules_test.cpp
    tests/cli/report_test.cpp
    tests/cli/run_test.cpp
    tests/elf/branch_protection_test.cpp
    tests/elf/cross_live_test.cpp
    tests/elf/layout_test.cpp
    tests/elf/live_test.cpp
    tests/elf/self_relocating_test.cpp
    tests/elf/small_alignment_test.cpp
    tests/elf/space_in_file_test.cpp
    tests/emit/encoder_test.cpp
    tests/emit/represent_aarch64_test.cpp
    tests/emit/represent_amd64_test.cpp
    tests/emit/represent_s390x_test.cpp
    tests/emit/rules_table_test.cpp
    tests/emit/select_versions_test.cpp
    tests/files/same_bytes_test.cpp
    tests/sframe/decoder_versions_test.cpp
    tests/support/byte_writer_test.cpp
    tests/trace/mapped_pieces_test.cpp
    tests/trace/process_maps_test.cpp
    tests/verify/verify_test.cpp)

function(sframe_gen_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  list(TRANSFORM sframe_gen_apart PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE apart)
  set_source_files_properties(${apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

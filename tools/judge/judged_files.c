/* Part of the Valgrind tool of row_judge.c, whose head says what its license is. */
#include "judged_files.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_vki.h"

#define LONGEST_PATH 4096

const HChar* const source_names[SOURCES] = {"cfi", "sframe", "proof"};

static const HChar *rows_folder, *prepare_command, *only_with;
static File* files;

void set_files(const HChar* folder, const HChar* command, const HChar* only) {
  rows_folder = folder;
  prepare_command = command;
  only_with = only;
}

File* judged_files(void) {
  return files;
}

/* Null if it cannot be read. */
static HChar* read_file(const HChar* path, SizeT* size) {
  struct vg_stat status;
  const SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
  if (sr_isError(opened)) return NULL;
  const Int descriptor = (Int)sr_Res(opened);
  if (VG_(fstat)(descriptor, &status) != 0) {
    VG_(close)(descriptor);
    return NULL;
  }
  HChar* const content = VG_(malloc)("judge.rows", (SizeT)status.size + 1);
  SizeT got = 0;
  while (got < (SizeT)status.size) {
    const SizeT left = (SizeT)status.size - got;
    const Int count = VG_(read)(descriptor, content + got, left > (1 << 28) ? 1 << 28 : (Int)left);
    if (count <= 0) break;
    got += (SizeT)count;
  }
  VG_(close)(descriptor);
  *size = got;
  return content;
}

static void read_rows(File* file, enum Source source) {
  HChar path[LONGEST_PATH];
  VG_(snprintf)(path, sizeof path, "%s%s/%s", rows_folder, file->path, source_names[source]);
  SizeT size = 0;
  HChar* const content = read_file(path, &size);
  if (content == NULL) return;
  const RowsHeader* const header = (RowsHeader*)content;
  if (size < sizeof *header || header->magic != ROWS_MAGIC ||
      size != sizeof *header + header->segments * sizeof(Segment) + header->rows * sizeof(Row)) {
    VG_(umsg)("%s is no file of rows\n", path);
    VG_(exit)(2);
  }
  Segment* const segments = (Segment*)(header + 1);
  /* A converted copy may have its segments at other offsets than the file that runs. */
  if (file->segments == NULL) {
    file->segments = segments;
    file->segment_count = header->segments;
  }
  file->rows[source] = (Row*)(segments + header->segments);
  file->row_counts[source] = header->rows;
}

/* Has the rows made, the first time that code of the file is met. */
static void prepare(const File* file) {
  HChar command[2 * LONGEST_PATH];
  if (prepare_command == NULL || VG_(strchr)(file->path, '\'') != NULL) return;
  VG_(snprintf)(command, sizeof command, "%s '%s'", prepare_command, file->path);
  VG_(system)(command);
}

static File* file_of(const HChar* path) {
  for (File* file = files; file != NULL; file = file->next)
    if (VG_(strcmp)(file->path, path) == 0) return file;
  File* const file = VG_(calloc)("judge.file", 1, sizeof(File));
  file->path = VG_(strdup)("judge.path", path);
  file->places = VG_(HT_construct)("judge.places");
  file->next = files;
  files = file;
  if (only_with != NULL && VG_(strstr)(path, only_with) == NULL) return file;
  prepare(file);
  for (enum Source source = 0; source < SOURCES; ++source) read_rows(file, source);
  return file;
}

static const Row* row_at(const File* file, enum Source source, Addr address) {
  const Row* const rows = file->rows[source];
  ULong begin = 0, end = file->row_counts[source];
  while (begin < end) {
    const ULong middle = begin + (end - begin) / 2;
    if (rows[middle].end <= address)
      begin = middle + 1;
    else
      end = middle;
  }
  if (begin == file->row_counts[source] || rows[begin].begin > address) return NULL;
  return &rows[begin];
}

static Bool are_equal(const Row* one, const Row* two) {
  return one != NULL && two != NULL && one->is_outermost == two->is_outermost &&
         VG_(memcmp)(&one->cfa, &two->cfa, 3 * sizeof(Rule)) == 0;
}

Place* place_at(Addr address) {
  const NSegment* const mapping = VG_(am_find_nsegment)(address);
  if (mapping == NULL || mapping->kind != SkFileC) return NULL;
  const HChar* const path = VG_(am_get_filename)(mapping);
  if (path == NULL) return NULL;
  File* const file = file_of(path);
  const ULong offset = address - mapping->start + (ULong)mapping->offset;
  for (ULong i = 0; i < file->segment_count; ++i) {
    const Segment* const segment = &file->segments[i];
    if (offset < segment->offset || offset - segment->offset >= segment->size) continue;
    const Addr in_file = offset - segment->offset + segment->address;
    Place* place = VG_(HT_lookup)(file->places, in_file);
    if (place != NULL) return place;
    place = VG_(calloc)("judge.place", 1, sizeof(Place));
    place->address = in_file;
    place->file = file;
    for (enum Source source = 0; source < SOURCES; ++source) {
      place->rows[source] = row_at(file, source, in_file);
      place->is_same_as_cfi[source] = source != SOURCE_CFI && are_equal(place->rows[SOURCE_CFI], place->rows[source]);
    }
    VG_(HT_add_node)(file->places, place);
    return place;
  }
  return NULL;
}

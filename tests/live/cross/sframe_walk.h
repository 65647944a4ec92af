/* A reader of SFrame version 3 that shares nothing with the one under test: written after the specification alone, and
   with no C library, for aarch64 and s390x. Trusts the section. */
#ifndef SFRAME_WALK_H
#define SFRAME_WALK_H

#include <stdint.h>

#ifdef __s390x__
enum {
  sframe_cfa_unit = 8,
  sframe_cfa_bias = 160,
  sframe_sp_from_cfa = -160,
  sframe_fp_number = 11,
  sframe_sp_number = 15
};
#else
enum { sframe_cfa_unit = 1, sframe_cfa_bias = 0, sframe_sp_from_cfa = 0, sframe_fp_number = 29, sframe_sp_number = 31 };
#endif

struct sframe_phdr {
  uint32_t type, flags;
  uint64_t offset, address, physical_address, file_size, memory_size, alignment;
};

/* A file in memory. */
struct sframe_object {
  const unsigned char* section;
};

/* ra: the register that calls put the return address into; `other`, by DWARF number, is known in the innermost frame
 * alone. */
struct sframe_state {
  uint64_t pc, sp, fp, ra;
  const uint64_t* other;
};

enum sframe_step { sframe_stepped, sframe_outermost, sframe_no_row };

struct __attribute__((packed)) sframe_header {
  uint16_t magic;
  uint8_t version, flags, abi;
  int8_t fixed_fp, fixed_ra;
  uint8_t auxiliary_length;
  uint32_t function_count, row_count, row_bytes, functions_at, rows_at;
};

struct __attribute__((packed)) sframe_function {
  int64_t start; /* from here */
  uint32_t size, attribute_at;
};

struct __attribute__((packed)) sframe_attribute {
  uint16_t row_count;
  uint8_t info, info2, repeat_size;
};

struct __attribute__((packed)) sframe_unaligned16 {
  uint16_t value;
};
struct __attribute__((packed)) sframe_unaligned32 {
  uint32_t value;
};

/* width: 1, 2 or 4 bytes. */
static inline uint32_t sframe_unsigned(const unsigned char* at, unsigned width) {
  return width == 1   ? *at
         : width == 2 ? ((const struct sframe_unaligned16*)at)->value
                      : ((const struct sframe_unaligned32*)at)->value;
}

static inline int64_t sframe_signed(const unsigned char* at, unsigned width) {
  const uint32_t value = sframe_unsigned(at, width);
  return width == 1 ? (int8_t)value : width == 2 ? (int16_t)value : (int32_t)value;
}

/* The last function that starts at or before `pc`, if it reaches that far. */
static inline const struct sframe_function* sframe_find(const struct sframe_object* object, uint64_t pc) {
  const struct sframe_header* header = (const struct sframe_header*)object->section;
  const struct sframe_function* first =
      (const struct sframe_function*)(object->section + sizeof *header + header->auxiliary_length +
                                      header->functions_at);
  uint32_t low = 0, high = header->function_count;
  if (header->magic != 0xdee2 || header->version != 3) return 0;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if ((uint64_t)&first[middle] + (uint64_t)first[middle].start <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return 0;
  const struct sframe_function* found = &first[low - 1];
  return pc - ((uint64_t)found + (uint64_t)found->start) < found->size ? found : 0;
}

static inline uint64_t sframe_register(const struct sframe_state* state, uint32_t number) {
  if (number == sframe_sp_number) return state->sp;
  if (number == sframe_fp_number) return state->fp;
  return state->other ? state->other[number] : 0;
}

/* What a pair of control and offset words stands for. */
static inline uint64_t sframe_flexible(const struct sframe_state* state, uint64_t cfa, uint32_t control,
                                       int64_t offset) {
  const uint64_t value = (uint64_t)offset + (control & 1 ? sframe_register(state, control >> 3) : cfa);
  return control & 2 ? *(const uint64_t*)value : value;
}

static inline enum sframe_step sframe_apply(struct sframe_state* state, int flexible, unsigned info,
                                            const unsigned char* words) {
  const unsigned count = info >> 1 & 15, width = 1U << (info >> 5 & 3);
  uint64_t cfa, ra = state->ra, fp = state->fp;
  if (count == 0) return sframe_outermost;
  if (flexible) {
    unsigned next = 2;
    cfa = sframe_flexible(state, 0, sframe_unsigned(words, width),
                          sframe_signed(words + width, width) * sframe_cfa_unit + sframe_cfa_bias);
    for (int tracked = 0; tracked < 2 && next < count; ++tracked) {
      const uint32_t control = sframe_unsigned(words + next++ * width, width);
      if (control == 0) continue;
      *(tracked == 0 ? &ra : &fp) = sframe_flexible(state, cfa, control, sframe_signed(words + next++ * width, width));
    }
  } else {
    cfa = (info & 1 ? state->sp : state->fp) +
          (uint64_t)(sframe_signed(words, width) * sframe_cfa_unit + sframe_cfa_bias);
    const int64_t ra_at = count > 1 ? sframe_signed(words + width, width) : 0;
    if (ra_at != 0) ra = *(const uint64_t*)(cfa + (uint64_t)ra_at);
    if (count > 2) fp = *(const uint64_t*)(cfa + (uint64_t)sframe_signed(words + 2 * width, width));
  }
  state->pc = state->ra = ra;
  state->fp = fp;
  state->sp = cfa + (uint64_t)(int64_t)sframe_sp_from_cfa;
  state->other = 0;
  return sframe_stepped;
}

/* To the caller. `after_call`: pc is a return address. It comes out as it was stored, signed or not. */
static inline enum sframe_step step_by_sframe(const struct sframe_object* object, struct sframe_state* state,
                                              int after_call) {
  const struct sframe_header* header = (const struct sframe_header*)object->section;
  const uint64_t pc = state->pc - (after_call ? 1 : 0);
  const struct sframe_function* function = sframe_find(object, pc);
  if (function == 0) return sframe_no_row;
  const unsigned char* at =
      object->section + sizeof *header + header->auxiliary_length + header->rows_at + function->attribute_at;
  const struct sframe_attribute* attribute = (const struct sframe_attribute*)at;
  const unsigned address_width = 1U << (attribute->info & 15);
  const uint64_t offset = pc - ((uint64_t)function + (uint64_t)function->start);
  const unsigned char* row = 0;
  at += sizeof *attribute;
  for (unsigned i = 0; i < attribute->row_count && sframe_unsigned(at, address_width) <= offset; ++i) {
    row = at + address_width;
    at = row + 1 + (*row >> 1 & 15) * (1U << (*row >> 5 & 3));
  }
  return row == 0 ? sframe_no_row : sframe_apply(state, attribute->info2 & 31, *row, row + 1);
}

#endif

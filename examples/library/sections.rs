// Makes a section for code that a program has written itself, decodes it, and looks up its rows: the library's C interface
// (sframe_gen/sframe_gen.h) from Rust. Module `ffi` has what bindgen would write of the functions used here:
//
//     rustc -L DIRECTORY-OF-THE-LIBRARY sections.rs
#![allow(non_camel_case_types)]

use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};

mod ffi {
    use std::os::raw::{c_char, c_int, c_void};

    pub const SFRAME_GEN_OK: c_int = 0;
    pub const SFRAME_GEN_ABI_AMD64: u32 = 3;
    pub const SFRAME_UNWIND_LOOKUP_ROW: c_int = 1;
    pub const SFRAME_UNWIND_LOOKUP_OUTERMOST: c_int = 2;
    pub const SFRAME_UNWIND_BASE_CFA: u32 = 0xffff_ffff;

    #[repr(C)]
    pub struct sframe_gen_section {
        _private: [u8; 0],
    }

    #[repr(C)]
    pub struct sframe_gen_options {
        pub size: usize,
        pub reader: *const c_char,
        pub sframe_version: u32,
        pub compact_rows: u32,
        pub debug_file: *const c_char,
        pub flags: u32,
        pub reserved: u32,
        pub report: Option<unsafe extern "C" fn(*mut c_void, c_int, *const c_char)>,
        pub context: *mut c_void,
    }

    #[repr(C)]
    #[derive(Default)]
    pub struct sframe_gen_function {
        pub size: usize,
        pub start: u64,
        pub code_size: u32,
        pub rows: u32,
        pub repeat_size: u32,
        pub is_flexible: u32,
        pub signal_frame: u32,
        pub b_key: u32,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct sframe_unwind_rule {
        pub base: u32,
        pub offset: i32,
        pub dereferenced: u32,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    pub struct sframe_unwind_row {
        pub cfa: sframe_unwind_rule,
        pub return_address: sframe_unwind_rule,
        pub frame_pointer: sframe_unwind_rule,
        pub mangled_ra: u32,
        pub b_key: u32,
        pub signal_frame: u32,
        pub function_start: u64,
        pub function_size: u32,
        pub descriptor: u32,
        pub row_number: u32,
        pub reserved: u32,
    }

    #[link(name = "sframe-gen")]
    extern "C" {
        pub fn sframe_gen_version() -> *const c_char;
        pub fn sframe_gen_message() -> *const c_char;
        pub fn sframe_gen_section_new(abi: u32, address: u64, section: *mut *mut sframe_gen_section) -> c_int;
        pub fn sframe_gen_section_add_function(
            section: *mut sframe_gen_section,
            function: *const sframe_gen_function,
        ) -> c_int;
        pub fn sframe_gen_section_add_row(
            section: *mut sframe_gen_section,
            kind: c_int,
            row: *const sframe_unwind_row,
            pc_offset: u32,
        ) -> c_int;
        pub fn sframe_gen_encode(
            section: *const sframe_gen_section,
            options: *const sframe_gen_options,
            bytes: *mut *mut c_void,
            size: *mut usize,
        ) -> c_int;
        pub fn sframe_gen_decode(
            bytes: *const c_void,
            size: usize,
            address: u64,
            flags: u32,
            section: *mut *mut sframe_gen_section,
        ) -> c_int;
        pub fn sframe_gen_section_lookup(
            section: *const sframe_gen_section,
            pc: u64,
            kind: *mut c_int,
            row: *mut sframe_unwind_row,
        ) -> c_int;
        pub fn sframe_gen_free(bytes: *mut c_void);
        pub fn sframe_gen_section_free(section: *mut sframe_gen_section);
    }
}

fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn check(status: c_int) -> Result<(), String> {
    if status == ffi::SFRAME_GEN_OK {
        Ok(())
    } else {
        Err(text(unsafe { ffi::sframe_gen_message() }))
    }
}

/// A section, decoded or made.
struct Section(*mut ffi::sframe_gen_section);

impl Drop for Section {
    fn drop(&mut self) {
        unsafe { ffi::sframe_gen_section_free(self.0) }
    }
}

impl Section {
    fn new(address: u64) -> Result<Section, String> {
        let mut made = std::ptr::null_mut();
        check(unsafe { ffi::sframe_gen_section_new(ffi::SFRAME_GEN_ABI_AMD64, address, &mut made) })?;
        Ok(Section(made))
    }

    fn decode(bytes: &[u8], address: u64) -> Result<Section, String> {
        let mut made = std::ptr::null_mut();
        check(unsafe { ffi::sframe_gen_decode(bytes.as_ptr() as *const c_void, bytes.len(), address, 0, &mut made) })?;
        Ok(Section(made))
    }

    fn add_function(&mut self, start: u64, code_size: u32, rows: &[(u32, ffi::sframe_unwind_row)]) -> Result<(), String> {
        let size = std::mem::size_of::<ffi::sframe_gen_function>();
        let function = ffi::sframe_gen_function { size, start, code_size, ..Default::default() };
        check(unsafe { ffi::sframe_gen_section_add_function(self.0, &function) })?;
        for (pc_offset, row) in rows {
            check(unsafe { ffi::sframe_gen_section_add_row(self.0, ffi::SFRAME_UNWIND_LOOKUP_ROW, row, *pc_offset) })?;
        }
        Ok(())
    }

    fn encode(&self) -> Result<Vec<u8>, String> {
        let (mut bytes, mut size) = (std::ptr::null_mut(), 0);
        check(unsafe { ffi::sframe_gen_encode(self.0, std::ptr::null(), &mut bytes, &mut size) })?;
        let copy = unsafe { std::slice::from_raw_parts(bytes as *const u8, size) }.to_vec();
        unsafe { ffi::sframe_gen_free(bytes) };
        Ok(copy)
    }

    fn look_up(&self, pc: u64) -> Result<Option<ffi::sframe_unwind_row>, String> {
        let (mut kind, mut row) = (0, ffi::sframe_unwind_row::default());
        check(unsafe { ffi::sframe_gen_section_lookup(self.0, pc, &mut kind, &mut row) })?;
        assert_ne!(kind, ffi::SFRAME_UNWIND_LOOKUP_OUTERMOST);
        Ok(if kind == ffi::SFRAME_UNWIND_LOOKUP_ROW { Some(row) } else { None })
    }
}

/// push %rbp; mov %rsp,%rbp; ...; pop %rbp; ret
fn rows_with_frame_pointer() -> Vec<(u32, ffi::sframe_unwind_row)> {
    let register = |base, offset| ffi::sframe_unwind_rule { base, offset, dereferenced: 0 };
    let saved = |offset| ffi::sframe_unwind_rule { base: ffi::SFRAME_UNWIND_BASE_CFA, offset, dereferenced: 1 };
    let row = |cfa, frame_pointer| {
        ffi::sframe_unwind_row { cfa, frame_pointer, return_address: saved(-8), ..Default::default() }
    };
    let (rsp, rbp) = (7, 6);
    vec![
        (0, row(register(rsp, 8), register(rbp, 0))),
        (1, row(register(rsp, 16), saved(-16))),
        (4, row(register(rbp, 16), saved(-16))),
        (31, row(register(rsp, 8), register(rbp, 0))),
    ]
}

fn run() -> Result<(), String> {
    let address = 0x7000_0000;
    let mut made = Section::new(address)?;
    made.add_function(0x7000_1000, 32, &rows_with_frame_pointer())?;
    let bytes = made.encode()?;
    let section = Section::decode(&bytes, address)?;
    for pc in [0x7000_1000u64, 0x7000_1010, 0x7000_1020] {
        match section.look_up(pc)? {
            Some(row) => println!("{:#x}: CFA is register {} + {}", pc, row.cfa.base, row.cfa.offset),
            None => println!("{:#x}: no row", pc),
        }
    }
    made.add_function(0x7000_101f, 1, &[])?;
    println!("{}", made.encode().unwrap_err());
    Ok(())
}

fn main() {
    assert!(!text(unsafe { ffi::sframe_gen_version() }).is_empty());
    if let Err(message) = run() {
        eprintln!("{}", message);
        std::process::exit(1);
    }
}

//! Prints its own stack, from print_stack() to _start. No file needs a section. Without crates:
//!
//!     rustc -O whole_stack.rs
use std::ffi::{c_void, CStr};
use std::os::raw::{c_char, c_int, c_ulong};
use std::process::ExitCode;
use std::ptr::{null, null_mut};

mod ffi {
    use super::*;

    pub const PROVIDE_ALL: u32 = 1; // SFRAME_UNWIND_PROVIDE_ALL
    pub const AT_ENTRY: c_ulong = 9;

    #[repr(C)]
    pub struct DlInfo {
        pub file: *const c_char,
        pub base: *const c_void,
        pub symbol: *const c_char,
        pub address: *const c_void,
    }

    pub type Provide = unsafe extern "C" fn(
        context: *mut c_void,
        file: *const c_char,
        bias: u64,
        bytes: *mut *const c_void,
        size: *mut usize,
        address: *mut u64,
    ) -> c_int;

    #[link(name = "sframe-gen")]
    extern "C" {
        pub fn sframe_gen_translated_sections_new(options: *const c_void, sections: *mut *mut c_void) -> c_int;
        pub fn sframe_gen_translated_sections_provide(
            context: *mut c_void,
            file: *const c_char,
            bias: u64,
            bytes: *mut *const c_void,
            size: *mut usize,
            address: *mut u64,
        ) -> c_int;
        pub fn sframe_gen_translated_sections_free(sections: *mut c_void);
    }

    #[link(name = "sframe-unwind")]
    extern "C" {
        pub fn sframe_unwind_backtrace_prepare_with(provide: Provide, context: *mut c_void, flags: u32) -> c_int;
        pub fn sframe_unwind_backtrace_release();
        pub fn sframe_unwind_backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
    }

    extern "C" {
        pub fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
        pub fn getauxval(kind: c_ulong) -> c_ulong;
    }
}

/// The sections that the walks use. They go when no walk needs them any more.
struct Prepared(*mut c_void);

impl Prepared {
    fn new() -> Option<Self> {
        let mut made = Prepared(null_mut());
        let status = unsafe { ffi::sframe_gen_translated_sections_new(null(), &mut made.0) };
        let provide = ffi::sframe_gen_translated_sections_provide;
        let prepared = status == 0
            && unsafe { ffi::sframe_unwind_backtrace_prepare_with(provide, made.0, ffi::PROVIDE_ALL) } == 0;
        prepared.then_some(made)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        unsafe {
            ffi::sframe_unwind_backtrace_release();
            ffi::sframe_gen_translated_sections_free(self.0);
        }
    }
}

fn name_of(pc: usize) -> String {
    let mut info = ffi::DlInfo { file: null(), base: null(), symbol: null(), address: null() };
    if unsafe { ffi::dladdr(pc as *const c_void, &mut info) } == 0 {
        return format!("{pc:#x}");
    }
    let text = |name: *const c_char| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    if info.symbol.is_null() { format!("{}+{:#x}", text(info.file), pc - info.base as usize) } else { text(info.symbol) }
}

/// Returns whether the stack is whole: the last frame is that of the program's entry.
#[inline(never)]
fn print_stack() -> bool {
    let mut frames = [null_mut(); 64];
    let count = unsafe { ffi::sframe_unwind_backtrace(frames.as_mut_ptr(), frames.len() as c_int) };
    let pcs: Vec<usize> = frames[..count as usize].iter().map(|frame| *frame as usize).collect();
    for pc in &pcs {
        // A return address may be that of the next function.
        println!("{}", name_of(pc - 1));
    }
    let entry = unsafe { ffi::getauxval(ffi::AT_ENTRY) } as usize;
    pcs.last().map_or(false, |pc| pc.wrapping_sub(entry) < 64)
}

fn main() -> ExitCode {
    let prepared = Prepared::new();
    if prepared.is_some() && print_stack() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

// In place of plain.c: the same function from another language.
#![no_std]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[inline(never)]
fn middle(numbers: &mut [i32; 3]) -> i32 {
    numbers.sort_unstable();
    numbers[1]
}

#[no_mangle]
pub extern "C" fn plain(i: i32) -> i32 {
    middle(&mut [5, i, 3])
}

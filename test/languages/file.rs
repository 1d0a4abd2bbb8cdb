// SPDX-License-Identifier: Apache-2.0
//! A kernel of a user's file, on an emulated GPU, in Rust: file <test/files/integers.cpp>.
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::{null, null_mut};

#[repr(C)]
struct CompileOptions {
    size: usize,
    target: *const c_char,
    wait_limit: f64,
    device: *mut c_void,
    file: *const c_void,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    element: i32,
    rank: i32,
    shape: *const i64,
    strides: *const i64,
}

const TLC_I32: i32 = 1;

extern "C" {
    fn tlc_version() -> c_int;
    fn tlc_last_error() -> *const c_char;
    fn tlc_file_open(path: *const c_char, options: *const c_void) -> *mut c_void;
    fn tlc_file_release(file: *mut c_void);
    fn tlc_device_emulator(options: *const c_void) -> *mut c_void;
    fn tlc_device_release(device: *mut c_void);
    fn tlc_device_allocate(device: *mut c_void, bytes: usize, address: *mut *mut c_void) -> c_int;
    fn tlc_device_free(device: *mut c_void, address: *mut c_void) -> c_int;
    fn tlc_device_copy_in(device: *mut c_void, to: *mut c_void, host: *const c_void, bytes: usize) -> c_int;
    fn tlc_device_copy_out(device: *mut c_void, host: *mut c_void, from: *const c_void, bytes: usize) -> c_int;
    fn tlc_compile_with(kernel: *const c_char, names: *const *const c_char, values: *const *const c_char, count: c_int,
                        options: *const CompileOptions) -> *mut c_void;
    fn tlc_launch(program: *const c_void, tensors: *const Tensor, tensor_count: c_int, scalars: *const c_void,
                  scalar_count: c_int, workspaces: *const *mut c_void, workspace_count: c_int, stream: *mut c_void)
                  -> c_int;
    fn tlc_release(program: *mut c_void);
}

/// What the last call that failed said.
fn reason() -> String {
    unsafe { CStr::from_ptr(tlc_last_error()).to_string_lossy().into_owned() }
}

fn made(object: *mut c_void) -> Result<*mut c_void, String> {
    if object.is_null() { Err(reason()) } else { Ok(object) }
}

fn done(status: c_int) -> Result<(), String> {
    if status != 0 { Err(reason()) } else { Ok(()) }
}

fn run(path: &str) -> Result<usize, String> {
    const N: usize = 100;
    let bytes = N * std::mem::size_of::<i32>();
    let (path, name) = (CString::new(path).unwrap(), CString::new("below").unwrap());
    let x: Vec<i32> = (0..N as i32).map(|i| i * i).collect();
    let mut y = vec![0i32; N];
    unsafe {
        let file = made(tlc_file_open(path.as_ptr(), null()))?;
        let device = made(tlc_device_emulator(null()))?;
        let options = CompileOptions { size: std::mem::size_of::<CompileOptions>(), target: null(), wait_limit: 0.0, device, file };
        let below = made(tlc_compile_with(name.as_ptr(), null(), null(), 0, &options))?;
        tlc_file_release(file);
        let (mut in_x, mut in_y) = (null_mut(), null_mut());
        done(tlc_device_allocate(device, bytes, &mut in_x))?;
        done(tlc_device_allocate(device, bytes, &mut in_y))?;
        done(tlc_device_copy_in(device, in_x, x.as_ptr().cast(), bytes))?;
        let (shape, strides) = ([N as i64], [1i64]);
        let tensor = |data| Tensor { data, element: TLC_I32, rank: 1, shape: shape.as_ptr(), strides: strides.as_ptr() };
        let tensors = [tensor(in_x), tensor(in_y)];
        done(tlc_launch(below, tensors.as_ptr(), 2, null(), 0, null(), 0, null_mut()))?;
        done(tlc_device_copy_out(device, y.as_mut_ptr().cast(), in_y, bytes))?;
        if tlc_launch(below, tensors.as_ptr(), 1, null(), 0, null(), 0, null_mut()) != 0 {
            println!("{}", reason());
        }
        done(tlc_device_free(device, in_x))?;
        done(tlc_device_free(device, in_y))?;
        tlc_release(below);
        tlc_device_release(device);
    }
    Ok(x.iter().zip(&y).filter(|(x, y)| *x - 1 != **y).count())
}

fn main() {
    let path = std::env::args().nth(1).expect("expected a file of kernels");
    println!("version {}", unsafe { tlc_version() });
    match run(&path) {
        Ok(wrong) => println!("{} elements are wrong", wrong),
        Err(reason) => {
            println!("{}", reason);
            std::process::exit(1)
        }
    }
}

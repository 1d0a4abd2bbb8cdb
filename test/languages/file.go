// SPDX-License-Identifier: Apache-2.0

// A kernel of a user's file, on an emulated GPU, in Go: file <test/files/integers.cpp>.
package main

/*
#cgo LDFLAGS: -ltlc -ltlc_runtime
#include <tlc.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

const n = 100

// The last error is of the calling thread, on which `run` stays.
func done(status C.int) error {
	if status == C.TLC_OK {
		return nil
	}
	return errors.New(C.GoString(C.tlc_last_error()))
}

func made(isNull bool) error {
	if !isNull {
		return nil
	}
	return errors.New(C.GoString(C.tlc_last_error()))
}

func run(path string) (int, error) {
	runtime.LockOSThread()
	cPath, cName := C.CString(path), C.CString("below")
	defer C.free(unsafe.Pointer(cPath))
	defer C.free(unsafe.Pointer(cName))
	file := C.tlc_file_open(cPath, nil)
	if err := made(file == nil); err != nil {
		return 0, err
	}
	defer C.tlc_file_release(file)
	device := C.tlc_device_emulator(nil)
	if err := made(device == nil); err != nil {
		return 0, err
	}
	defer C.tlc_device_release(device)
	// What C keeps pointers in is memory of C.
	options := (*C.tlc_compile_options)(C.calloc(1, C.sizeof_tlc_compile_options))
	defer C.free(unsafe.Pointer(options))
	options.size, options.device, options.file = C.sizeof_tlc_compile_options, device, file
	below := C.tlc_compile_with(cName, nil, nil, 0, options)
	if err := made(below == nil); err != nil {
		return 0, err
	}
	defer C.tlc_release(below)

	var x, y [n]int32
	for i := range x {
		x[i] = int32(i * i)
	}
	bytes := C.size_t(unsafe.Sizeof(x))
	var inX, inY unsafe.Pointer
	if err := done(C.tlc_device_allocate(device, bytes, &inX)); err != nil {
		return 0, err
	}
	defer C.tlc_device_free(device, inX)
	if err := done(C.tlc_device_allocate(device, bytes, &inY)); err != nil {
		return 0, err
	}
	defer C.tlc_device_free(device, inY)
	if err := done(C.tlc_device_copy_in(device, inX, unsafe.Pointer(&x), bytes)); err != nil {
		return 0, err
	}
	extents := (*[2]C.int64_t)(C.malloc(2 * C.sizeof_int64_t))
	defer C.free(unsafe.Pointer(extents))
	extents[0], extents[1] = n, 1
	tensors := (*[2]C.tlc_tensor)(C.calloc(2, C.sizeof_tlc_tensor))
	defer C.free(unsafe.Pointer(tensors))
	for i, data := range []unsafe.Pointer{inX, inY} {
		tensors[i] = C.tlc_tensor{data: data, element: C.TLC_I32, rank: 1, shape: &extents[0], strides: &extents[1]}
	}
	if err := done(C.tlc_launch(below, &tensors[0], 2, nil, 0, nil, 0, nil)); err != nil {
		return 0, err
	}
	if err := done(C.tlc_device_copy_out(device, unsafe.Pointer(&y), inY, bytes)); err != nil {
		return 0, err
	}
	if err := done(C.tlc_launch(below, &tensors[0], 1, nil, 0, nil, 0, nil)); err != nil {
		fmt.Println(err)
	}
	wrong := 0
	for i := range x {
		if y[i] != x[i]-1 {
			wrong++
		}
	}
	return wrong, nil
}

func main() {
	fmt.Println("version", C.tlc_version())
	wrong, err := run(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(wrong, "elements are wrong")
}

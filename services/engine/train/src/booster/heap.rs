//! Gives back the memory that the libraries have freed.
//!
//! The C++ allocator of glibc keeps what was freed for the next time, by thread; a server that trains now and then would
//! hold tens of megabytes more after each training.

/// Returns freed memory of the C++ heap to the system.
pub(super) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
mod glibc {
    use std::ffi::c_int;

    unsafe extern "C" {
        fn malloc_trim(pad: usize) -> c_int;
    }

    pub(super) fn trim() {
        // SAFETY: a function of glibc that any thread may call at any time; whether it found something does not matter.
        unsafe { malloc_trim(0) };
    }
}
